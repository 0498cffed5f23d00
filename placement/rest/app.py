"""The Placement REST API as a WSGI application: middleware in order, routes, errors."""

import functools

from oslo_config import cfg

from armillary.http import wsgi_middleware
from armillary.http.authentication import PathAuthentication
from armillary.http.dispatch import Endpoint, is_public
from armillary.http.errors import App, answer_errors
from armillary.http.microversion import Microversion
from armillary.http.request_id import RequestId
from armillary.policy import Enforcer
from placement.engine import PlacementEngine
from placement.rest import errors, openapi
from placement.rest.authentication import make_authenticate
from placement.rest.call import AppState
from placement.rest.dialect import Bounds, make_dialect
from placement.rest.policies import list_rules
from placement.rest.routes import ROUTES
from placement.rest.versions import MICROVERSIONS


def make_app(conf: cfg.ConfigOpts, engine: PlacementEngine) -> wsgi_middleware.WsgiApp:
    """Return the application; it may share its engine with the RPC manager of its process.

    Raises ``ConfigurationError`` for an invalid token file or policy.
    """
    options = conf.placement
    app = App(
        middleware=[
            RequestId(),
            Microversion(MICROVERSIONS),
            Bounds(
                max_body_bytes=options.rest_max_body_bytes,
                max_query_bytes=options.rest_max_query_bytes,
            ),
            PathAuthentication(
                make_authenticate(conf),
                public_paths=[path for path, methods in ROUTES.items() if is_public(methods)],
            ),
        ]
    )
    # Responses without a body have no media type; Falcon accepts None, its annotation does not.
    app.resp_options.default_media_type = None  # type: ignore[assignment]
    answer_errors(app, errors.write, realm="placement")
    site = AppState(
        engine=engine,
        policy=Enforcer(conf, list_rules()),
        incomplete_consumer_project_id=options.incomplete_consumer_project_id,
        incomplete_consumer_user_id=options.incomplete_consumer_user_id,
        link_prefix=(options.rest_link_prefix or "").rstrip("/") or None,
        document=functools.cache(openapi.document),
    )
    dialect = make_dialect(site)
    for path, methods in ROUTES.items():
        app.add_route(path, Endpoint(methods, dialect))
    return wsgi_middleware.wrapped(app, conf)
