"""The Placement REST API as a WSGI application: middleware, routes, errors."""

from __future__ import annotations

import falcon

from placement.engine import PlacementEngine
from placement.rest import errors
from placement.rest.middleware.request_id import RequestId
from placement.rest.routes import routes

App = falcon.App[falcon.Request, falcon.Response]


def make_app(engine: PlacementEngine) -> App:
    """Return the application; it shares its engine with the RPC manager of its process."""
    app: App = falcon.App(middleware=[RequestId()])
    errors.install(app)
    for path, handler in routes(engine).items():
        app.add_route(path, handler)
    return app
