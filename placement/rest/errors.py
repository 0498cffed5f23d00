"""Errors of the REST API: each in the one shape its clients know, with the request's id."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import Any

import falcon

from armillary import exception

LOG = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 10

_DETAILS = {
    HTTPStatus.NOT_FOUND: "The resource could not be found.",
    HTTPStatus.METHOD_NOT_ALLOWED: "The method {method} is not allowed for this resource.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The placement database does not answer. Try again later.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "An unexpected error occurred; the log says more.",
}


def install(app: falcon.App[falcon.Request, falcon.Response]) -> None:
    """Let every error of an application come out in this shape."""
    app.set_error_serializer(_serialize)
    app.add_error_handler(Exception, _handle_unexpected)
    app.add_error_handler(falcon.HTTPError, _handle_http_error)
    app.add_error_handler(exception.Unavailable, _handle_unavailable)


def _handle_http_error(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: Any
) -> None:
    resp.status = error.status
    resp.set_headers(error.headers or {})
    _serialize(req, resp, error)


def _handle_unavailable(
    req: falcon.Request, resp: falcon.Response, error: exception.Unavailable, params: Any
) -> None:
    LOG.warning("%s %s", req.context.request_id, error)
    resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))
    _answer(req, resp, HTTPStatus.SERVICE_UNAVAILABLE, None)


def _handle_unexpected(
    req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
) -> None:
    LOG.exception("%s %s %s failed", req.context.request_id, req.method, req.path, exc_info=error)
    _answer(req, resp, HTTPStatus.INTERNAL_SERVER_ERROR, None)


def _serialize(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError) -> None:
    _answer(req, resp, HTTPStatus(error.status_code), error.description)


def _answer(
    req: falcon.Request, resp: falcon.Response, status: HTTPStatus, detail: str | None
) -> None:
    error = {
        "status": status.value,
        "title": status.phrase,
        "detail": detail or _DETAILS.get(status, status.description).format(method=req.method),
        "request_id": req.context.request_id,
    }
    resp.status = f"{status.value} {status.phrase}"
    resp.content_type = falcon.MEDIA_JSON
    resp.text = json.dumps({"errors": [error]})
