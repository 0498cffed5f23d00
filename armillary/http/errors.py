"""Mapping of errors to HTTP responses: one table of families; each API writes its own document."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

import falcon

from armillary import exception

LOG = logging.getLogger(__name__)

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


class WriteError(Protocol):
    """Writes status line and body of a response in the error format of an API.

    ``detail`` None means that the API's sentence for the status is sent: the error has none, or
    only the log may know it.
    """

    def __call__(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        status: int,
        detail: str | None,
        error: Exception,
    ) -> None: ...


def status_of(error: exception.ArmillaryError) -> int:
    """Return the HTTP status of an error; 500 when its family has none."""
    for family, status in STATUS_OF_FAMILY:
        if isinstance(error, family):
            return status
    return 500


def request_id(req: falcon.Request) -> str:
    """Return the request's ID."""
    return str(getattr(req.context, "request_id", "unknown"))


class ErrorHandlers:
    """Answers every error of an application by ``write``; ``realm`` is where tokens are valid."""

    def __init__(self, write: WriteError, realm: str) -> None:
        self._write = write
        self._realm = realm

    def add_to(self, app: App) -> None:
        """Make ``app`` answer every error in this way."""
        app.add_error_handler(Exception, self._handle_unexpected)
        app.add_error_handler(falcon.HTTPError, self._handle_http_error)
        app.add_error_handler(exception.ArmillaryError, self._handle_armillary_error)

    def _handle_armillary_error(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        error: exception.ArmillaryError,
        params: Any,
    ) -> None:
        status = status_of(error)
        if status == 500:
            self._handle_unexpected(req, resp, error, params)
        elif status > 500:
            LOG.warning("%s was answered with %d: %s", request_id(req), status, error)
            self._answer(req, resp, status, None, error)
        else:
            self._answer(req, resp, status, error.message, error)

    def _handle_http_error(
        self, req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: Any
    ) -> None:
        """Answer an error of Falcon or a middleware: unknown path, invalid body."""
        headers = error.headers or {}
        resp.set_headers(headers if isinstance(headers, Mapping) else dict(headers))
        self._answer(req, resp, error.status_code, error.description, error)

    def _handle_unexpected(
        self, req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
    ) -> None:
        """Answer an unexpected error: the traceback is logged, the client learns nothing of it."""
        LOG.exception("%s %s %s failed", request_id(req), req.method, req.path, exc_info=error)
        self._answer(req, resp, 500, None, error)

    def _answer(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        status: int,
        detail: str | None,
        error: Exception,
    ) -> None:
        self._write(req, resp, status, detail, error)
        if status == 401:
            resp.set_header("WWW-Authenticate", f'X-Auth-Token realm="{self._realm}"')
        if status == 503:
            resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))
