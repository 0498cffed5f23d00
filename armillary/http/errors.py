"""Mapping of errors to HTTP responses: one table of families; each API writes its own document."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import falcon

from armillary import exception
from armillary.logs.line_budget import BoundedLog

LOG = logging.getLogger(__name__)
_FAILURES = BoundedLog(LOG)
"""A client that finds what fails can repeat it as fast as it sends."""

App = falcon.App[falcon.Request, falcon.Response]

STATUS_OF_FAMILY: tuple[tuple[type[exception.ArmillaryError], int], ...] = (
    # The first match applies.
    (exception.Unauthorized, 401),
    (exception.RpcVersionTooOld, 503),  # in the family Invalid, but not the client's fault
    (exception.ConfigurationError, 500),  # likewise
    (exception.NotFound, 404),
    (exception.Exists, 409),
    (exception.Conflict, 409),
    (exception.Forbidden, 403),
    (exception.RpcTimeout, 504),
    (exception.Unavailable, 503),
    (exception.Invalid, 400),
    (exception.NoValidHost, 400),
)

RETRY_AFTER_SECONDS = 10


WriteError = Callable[[falcon.Request, falcon.Response, int, str | None, Exception], None]
"""Writes status line and body of a response in the error format of an API.

It gets the status and the detail of the error. None means that the API's sentence for the status is
sent: the error has no detail, or only the log may know it.
"""


def status_of(error: exception.ArmillaryError) -> int:
    """Return the HTTP status of an error; 500 when its family has none."""
    for family, status in STATUS_OF_FAMILY:
        if isinstance(error, family):
            return status
    return 500


def request_id(req: falcon.Request) -> str:
    """Return the request's ID."""
    return str(getattr(req.context, "request_id", "unknown"))


def answer_errors(app: App, write: WriteError, *, realm: str) -> None:
    """Make ``app`` answer every error by ``write``; ``realm`` is where tokens are valid."""

    def answer(req: Any, resp: falcon.Response, status: int, detail: Any, error: Exception) -> None:
        req.context.error = error
        write(req, resp, status, detail, error)
        if status == 401:
            resp.set_header("WWW-Authenticate", f'X-Auth-Token realm="{realm}"')
        if status == 503:
            resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))

    def on_unexpected(req: falcon.Request, resp: Any, error: Exception, params: Any) -> None:
        """Answer an unexpected error: the traceback is logged, the client learns nothing of it."""
        _FAILURES.write(
            logging.ERROR, "%s %s %s failed", request_id(req), req.method, req.path,
            error=error, kind=f"{req.method} {req.uri_template}",
        )  # fmt: skip
        answer(req, resp, 500, None, error)

    def on_http_error(req: Any, resp: Any, error: falcon.HTTPError, params: Any) -> None:
        """Answer an error of Falcon or a middleware: unknown path, invalid body."""
        headers = error.headers or {}
        resp.set_headers(headers if isinstance(headers, Mapping) else dict(headers))
        answer(req, resp, error.status_code, error.description, error)

    def on_armillary_error(
        req: Any, resp: Any, error: exception.ArmillaryError, params: Any
    ) -> None:
        status = status_of(error)
        if status == 500:
            on_unexpected(req, resp, error, params)
        elif status > 500:
            LOG.warning("%s was answered with %d: %s", request_id(req), status, error)
            answer(req, resp, status, None, error)
        else:
            answer(req, resp, status, error.message, error)

    app.add_error_handler(Exception, on_unexpected)
    app.add_error_handler(falcon.HTTPError, on_http_error)
    app.add_error_handler(exception.ArmillaryError, on_armillary_error)
