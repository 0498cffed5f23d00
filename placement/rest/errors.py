"""Error documents of the Placement API, and their public codes."""

import html
import json
import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import falcon
from oslo_context import context as oslo_context

from armillary import exception
from armillary.http.errors import request_id
from armillary.http.microversion import Version, to_text
from placement.rest.versions import MAX, MIN

LOG = logging.getLogger(__name__)

CODES_SINCE: Version = (1, 23)
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

CODE_OF: dict[type[Exception], str] = {
    exception.ResourceProviderGenerationConflict: CONCURRENT_UPDATE,
    exception.ConsumerGenerationConflict: CONCURRENT_UPDATE,
    exception.InventoryInUse: INVENTORY_INUSE,
    exception.ResourceProviderInUse: PROVIDER_IN_USE,
    exception.ResourceProviderExists: DUPLICATE_NAME,
    exception.ResourceProviderHasChildren: PROVIDER_CANNOT_DELETE_PARENT,
}

# For errors without a detail, and for those whose detail is only logged.
_DETAILS = {
    404: "The resource could not be found.",
    405: "The method {method} is not allowed for this resource.",
    500: "An unexpected error occurred; the log says more under the request id.",
    503: "The placement database does not answer. Try again later.",
}

_ACCEPT_ALL = frozenset({"", "*/*", falcon.MEDIA_JSON})
_JSON_OR_HTML = (falcon.MEDIA_JSON, falcon.MEDIA_HTML)
_MEDIA_RANGE = re.compile(r"\s*[\w!#$&^.+*-]+/[\w!#$&^.+*-]+\s*(;.*)?")


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


def code_of(error: Exception) -> str | None:
    """Return the public code of an error; None if it has none."""
    if isinstance(error, _CodedError):
        return error.public_code
    return next((CODE_OF[kind] for kind in type(error).__mro__ if kind in CODE_OF), None)


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


def preferred_type(req: falcon.Request, types: Sequence[str]) -> str | None:
    """Return the media type that a client prefers; None if it accepts none of them.

    A malformed ``Accept`` is ignored.
    """
    accept = req.accept
    if accept in _ACCEPT_ALL or not all(map(_MEDIA_RANGE.fullmatch, accept.split(","))):
        return types[0]
    return req.client_prefers(types)


def write(
    req: falcon.Request, resp: falcon.Response, status: int, detail: str | None, error: Exception
) -> None:
    """Write an error response: JSON, HTML for a browser, or text for what accepts neither."""
    detail = detail or _DETAILS.get(status) or HTTPStatus(status).description
    document = _document(req, status, _cut(detail.replace("{method}", req.method)), code_of(error))
    resp.status = f"{status} {document['title']}"
    media_type = preferred_type(req, _JSON_OR_HTML)
    resp.content_type = media_type or falcon.MEDIA_TEXT
    if media_type is None:
        resp.text = "\n\n".join([_heading(document), *_lines(document), ""])
    elif media_type == falcon.MEDIA_HTML:
        resp.text = _page(document)
    else:
        resp.text = json.dumps({"errors": [document]})


def _document(req: falcon.Request, status: int, detail: str, code: str | None) -> dict[str, object]:
    version: Version | None = getattr(req.context, "version", None)
    error: dict[str, object] = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "request_id": request_id(req),
    }
    if version is not None and version >= CODES_SINCE:
        error["code"] = code or UNDEFINED_CODE
    if version is None and status == 406:
        error["max_version"] = to_text(MAX)
        error["min_version"] = to_text(MIN)
    return error


def _page(error: Mapping[str, Any]) -> str:
    """Return the error as HTML, for browsers."""
    heading = html.escape(_heading(error))
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in _lines(error))
    return (
        f"<!DOCTYPE html><html><head><title>{heading}</title></head>"
        f"<body><h1>{heading}</h1>{paragraphs}</body></html>"
    )


def _heading(error: Mapping[str, Any]) -> str:
    return f"{error['status']} {error['title']}"


def _lines(error: Mapping[str, Any]) -> list[str]:
    return [error["detail"], f"Request id: {error['request_id']}"]


def _cut(detail: str) -> str:
    if len(detail) <= DETAIL_CHARACTERS_MAX:
        return detail
    return f"{detail[:DETAIL_CHARACTERS_MAX]}..."
