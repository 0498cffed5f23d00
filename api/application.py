"""Composition of an application: middleware, routes, errors, and how requests are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from api import errors, validation
from api.middleware.body import read_body
from api.middleware.not_stored import NotStored
from armillary.http.call import CallT, Site
from armillary.http.dispatch import Dialect, Endpoint, Routes
from armillary.http.errors import App, answer_errors


def make_application(
    routes: Routes[CallT],
    middleware: Sequence[Any],
    site: Site,
    make_call: Callable[..., CallT],
    *,
    write_error: Callable[..., None] = errors.write,
    removed: Mapping[str, Sequence[str]] | None = None,
    **dialect: Any,
) -> App:
    """Return an application; ``dialect`` has what differs from the Compute API's usual form.

    ``removed`` are methods by path that are answered with 410.
    """
    app = App(middleware=[NotStored(), *middleware])
    answer_errors(app, write_error, realm="armillary")
    app.req_options.strip_url_path_trailing_slash = True
    made = Dialect(
        site=site,
        make_call=make_call,
        make_check=validation.Check,
        check_path=validation.check_path,
        read_query=lambda req: req.params,
        **{"read_body": read_body, **dialect},
    )
    gone = removed or {}
    for path in {**routes, **gone}:
        app.add_route(path, Endpoint(routes.get(path, {}), made, gone.get(path, ())))
    return app
