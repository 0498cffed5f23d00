"""Mapping of errors to HTTP responses: one table of families, one error format."""

from __future__ import annotations

import html
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import falcon
from oslo_context import context as oslo_context

from armillary import exception
from placement.rest import versions
from placement.rest.versions import Version

LOG = logging.getLogger(__name__)

CODES_SINCE: Version = (1, 23)
RETRY_AFTER_SECONDS = 10
DETAIL_CHARACTERS_MAX = 2000

# Public error codes: clients depend on them, so they never change.
UNDEFINED_CODE = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_INUSE = "placement.inventory.inuse"
DUPLICATE_NAME = "placement.duplicate_name"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERYPARAM_BAD_VALUE = "placement.query.bad_value"
QUERYPARAM_MISSING_VALUE = "placement.query.missing_value"
QUERYPARAM_DUPLICATE_KEY = "placement.query.duplicate_key"

CODE_OF: dict[type[exception.ArmillaryError], str] = {
    exception.ResourceProviderGenerationConflict: CONCURRENT_UPDATE,
    exception.ConsumerGenerationConflict: CONCURRENT_UPDATE,
    exception.InventoryInUse: INVENTORY_INUSE,
    exception.ResourceProviderInUse: PROVIDER_IN_USE,
    exception.ResourceProviderExists: DUPLICATE_NAME,
    exception.ResourceProviderHasChildren: PROVIDER_CANNOT_DELETE_PARENT,
}

STATUS_OF_FAMILY: tuple[tuple[type[exception.ArmillaryError], int], ...] = (
    # The first match applies.
    (exception.Unauthorized, 401),
    (exception.ConfigurationError, 500),  # in the family Invalid, but not the client's fault
    (exception.NotFound, 404),
    (exception.Exists, 409),
    (exception.Conflict, 409),
    (exception.Forbidden, 403),
    (exception.Unavailable, 503),
    (exception.Invalid, 400),
)

# For errors without a detail, and for those whose detail is only logged.
_DETAILS = {
    404: "The resource could not be found.",
    405: "The method {method} is not allowed for this resource.",
    500: "An unexpected error occurred; the log says more under the request id.",
    503: "The placement database does not answer. Try again later.",
}

_JSON_OR_HTML = (falcon.MEDIA_JSON, falcon.MEDIA_HTML)


class _CodedError(falcon.HTTPError):
    """An error of the REST API only, with its public code."""

    def __init__(self, status: int, detail: str, code: str | None) -> None:
        super().__init__(status, description=detail)
        self.public_code = code


def bad_request(detail: str, code: str | None = None) -> falcon.HTTPError:
    """Return the error for an invalid request: status 400."""
    return _CodedError(400, detail, code)


def not_found(detail: str, code: str | None = None) -> falcon.HTTPError:
    """Return the error for a missing object: status 404."""
    return _CodedError(404, detail, code)


def conflict(detail: str, code: str | None = None) -> falcon.HTTPError:
    """Return the error for a conflict with the current state: status 409."""
    return _CodedError(409, detail, code)


def status_of(error: exception.ArmillaryError) -> int:
    """Return the HTTP status of an error; 500 when its family has none."""
    for family, status in STATUS_OF_FAMILY:
        if isinstance(error, family):
            return status
    return 500


def code_of(error: exception.ArmillaryError) -> str | None:
    """Return the public code of an error; None if it has none."""
    return next((CODE_OF[kind] for kind in type(error).__mro__ if kind in CODE_OF), None)


def add_to(app: falcon.App[falcon.Request, falcon.Response]) -> None:
    """Make ``app`` answer every error in this format."""
    app.add_error_handler(Exception, _handle_unexpected)
    app.add_error_handler(falcon.HTTPError, _handle_http_error)
    app.add_error_handler(exception.ArmillaryError, _handle_armillary_error)


def refusal(status: int, detail: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of the server's response to a malformed request."""
    request_id = oslo_context.generate_request_id()
    LOG.info("%s sent a malformed request: %s", request_id, detail)
    error = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "request_id": request_id,
    }
    headers = {"Content-Type": falcon.MEDIA_JSON, "x-openstack-request-id": request_id}
    return headers, json.dumps({"errors": [error]}).encode()


def _handle_armillary_error(
    req: falcon.Request, resp: falcon.Response, error: exception.ArmillaryError, params: Any
) -> None:
    status = status_of(error)
    if status < 500:
        _answer(req, resp, status, error.message, code_of(error))
        return
    if status == 500:
        LOG.exception("%s %s %s failed", _request_id(req), req.method, req.path, exc_info=error)
    else:
        LOG.warning("%s was answered with %d: %s", _request_id(req), status, error)
    _answer(req, resp, status, None)


def _handle_http_error(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, params: Any
) -> None:
    headers = error.headers or {}
    resp.set_headers(headers if isinstance(headers, Mapping) else dict(headers))
    code = getattr(error, "public_code", None)
    _answer(req, resp, error.status_code, error.description, code)


def _handle_unexpected(
    req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
) -> None:
    """Answer an unexpected error: the traceback is logged, the client learns nothing of it."""
    LOG.exception("%s %s %s failed", _request_id(req), req.method, req.path, exc_info=error)
    _answer(req, resp, 500, None)


def _answer(
    req: falcon.Request,
    resp: falcon.Response,
    status: int,
    detail: str | None,
    code: str | None = None,
) -> None:
    detail = detail or _DETAILS.get(status) or HTTPStatus(status).description
    error = _error(req, status, _cut(detail.replace("{method}", req.method)), code)
    resp.status = f"{status} {error['title']}"
    if status == 401:
        resp.set_header("WWW-Authenticate", 'X-Auth-Token realm="placement"')
    if status == 503:
        resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))
    if req.client_prefers(_JSON_OR_HTML) == falcon.MEDIA_HTML:
        resp.content_type = falcon.MEDIA_HTML
        resp.text = _page(error)
    else:
        resp.content_type = falcon.MEDIA_JSON
        resp.text = json.dumps({"errors": [error]})


def _error(req: falcon.Request, status: int, detail: str, code: str | None) -> dict[str, Any]:
    version: Version | None = getattr(req.context, "version", None)
    error: dict[str, Any] = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "request_id": _request_id(req),
    }
    if version is not None and version >= CODES_SINCE:
        error["code"] = code or UNDEFINED_CODE
    if version is None and status == 406:
        error["max_version"] = versions.to_text(versions.MAX)
        error["min_version"] = versions.to_text(versions.MIN)
    return error


def _page(error: Mapping[str, Any]) -> str:
    """Return the error as HTML, for browsers."""
    heading = html.escape(f"{error['status']} {error['title']}")
    lines = [error["detail"], f"Request id: {error['request_id']}"]
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    return (
        f"<!DOCTYPE html><html><head><title>{heading}</title></head>"
        f"<body><h1>{heading}</h1>{paragraphs}</body></html>"
    )


def _cut(detail: str) -> str:
    if len(detail) <= DETAIL_CHARACTERS_MAX:
        return detail
    return f"{detail[:DETAIL_CHARACTERS_MAX]}..."


def _request_id(req: falcon.Request) -> str:
    return str(getattr(req.context, "request_id", "unknown"))
