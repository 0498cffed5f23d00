"""Mapping of errors to HTTP responses: one table of families, the Compute API's error format."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import falcon

from armillary import exception

LOG = logging.getLogger(__name__)

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

NAME_OF_STATUS = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    406: "notAcceptable",
    409: "conflictingRequest",
    411: "lengthRequired",
    413: "overLimit",
    415: "badMediaType",
    503: "serviceUnavailable",
}
OTHER_NAME = "computeFault"

# Internal details are logged; the client learns what the error means for the request.
MESSAGE_OF_STATUS = {
    500: "An unexpected error occurred. Report the request id {request_id} to the administrators.",
    503: "A part of the service is unavailable. Try again later. Request id: {request_id}.",
    504: "The request timed out: it may have been executed or not. Check before you repeat it. "
    "Request id: {request_id}.",
}

MESSAGE_OF_ROUTING = {
    404: "There is nothing at this path.",
    405: "The path does not support this method; the header Allow lists those that it supports.",
}

RETRY_AFTER_SECONDS = 10


def status_of(error: exception.ArmillaryError) -> int:
    """Return the HTTP status of an error; 500 when its family has none."""
    for family, status in STATUS_OF_FAMILY:
        if isinstance(error, family):
            return status
    return 500


def fault(status: int, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    name = NAME_OF_STATUS.get(status, OTHER_NAME)
    return {name: {"code": status, "message": message}}


def refusal(status: int, detail: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of an error response made outside the application."""
    return {"Content-Type": falcon.MEDIA_JSON}, json.dumps(fault(status, detail)).encode()


def handle_armillary_error(
    req: falcon.Request, resp: falcon.Response, error: exception.ArmillaryError, params: Any
) -> None:
    """Answer an error of Armillary."""
    status = status_of(error)
    if status < 500:
        _answer(resp, status, error.message)
        return
    if status == 500:
        LOG.exception("%s failed", _request_id(req), exc_info=error)
    else:
        LOG.warning("%s was answered with %d: %s", _request_id(req), status, error)
    _answer_server_error(req, resp, status)


def handle_http_error(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: Any
) -> None:
    """Answer an error of Falcon or a middleware: unknown path, invalid body."""
    message = error.description or MESSAGE_OF_ROUTING.get(error.status_code) or str(error.title)
    _answer(resp, error.status_code, message, _headers(error))


def handle_unexpected(
    req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
) -> None:
    """Answer an unexpected error: the traceback is logged, the client learns nothing of it."""
    LOG.exception("%s failed", _request_id(req), exc_info=error)
    _answer_server_error(req, resp, 500)


def add_to(app: falcon.App[falcon.Request, falcon.Response]) -> None:
    """Make ``app`` answer every error in this format."""
    app.add_error_handler(Exception, handle_unexpected)
    app.add_error_handler(falcon.HTTPError, handle_http_error)
    app.add_error_handler(exception.ArmillaryError, handle_armillary_error)


def _answer_server_error(req: falcon.Request, resp: falcon.Response, status: int) -> None:
    _answer(resp, status, MESSAGE_OF_STATUS[status].format(request_id=_request_id(req)))


def _answer(
    resp: falcon.Response, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    resp.status = falcon.code_to_http_status(status)
    resp.data = json.dumps(fault(status, message)).encode()
    resp.content_type = falcon.MEDIA_JSON
    for name, value in (headers or {}).items():
        resp.set_header(name, value)
    if status == 401:
        resp.set_header("WWW-Authenticate", 'X-Auth-Token realm="armillary"')
    if status == 503:
        resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))


def _headers(error: falcon.HTTPError) -> Mapping[str, str]:
    headers = error.headers or {}
    return headers if isinstance(headers, Mapping) else dict(headers)


def _request_id(req: falcon.Request) -> str:
    return str(getattr(req.context, "request_id", "unknown"))
