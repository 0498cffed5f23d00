"""OpenAPI document of the Placement API; ``python -m placement.rest.openapi`` prints it."""

from typing import Any

import falcon

from armillary import version
from armillary.http import openapi
from armillary.http.call import Document
from armillary.http.dispatch import Action
from armillary.http.errors import RETRY_AFTER_SECONDS
from armillary.http.microversion import HEADER, to_text
from armillary.http.openapi import JSON
from placement.rest.call import Routes
from placement.rest.routes import ROUTES
from placement.rest.validation import PATH_PARAMETER_CHARACTERS_MAX
from placement.rest.versions import MAX, MICROVERSIONS, MIN

_ERROR_SCHEMA: Document = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "status": {"type": "integer"},
                    "title": {"type": "string"},
                    "detail": {"type": "string"},
                    "request_id": {"type": "string"},
                    "code": {"type": "string"},
                    "max_version": {"type": "string"},
                    "min_version": {"type": "string"},
                },
                "required": ["status", "title", "detail", "request_id"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["errors"],
    "additionalProperties": False,
}

_ERRORS = {
    400: "The request is invalid; the detail says why. Nothing was changed.",
    401: "The request needs a valid token.",
    403: "The policy does not allow it.",
    404: "The object of the path does not exist.",
    405: "The path does not support this method.",
    406: "The requested version, or media type of the response, is not supported.",
    409: "It exists already, is in use, or was changed concurrently.",
    411: "The body has no Content-Length.",
    413: "The body is too large.",
    414: "The query string is too long.",
    415: "The body is not application/json.",
    500: "An unexpected error; search the logs for the request id.",
    503: f"The database is unavailable; try again after {RETRY_AFTER_SECONDS} seconds.",
}


def document(routes: Routes = ROUTES) -> Document:
    """Return the description of every route in the newest version."""
    newest = to_text(MAX)
    about = openapi.Description(
        info={
            "title": f"{version.PRODUCT} placement",
            "version": newest,
            "description": "The OpenStack Placement API. Older versions, requested by the header "
            f"{HEADER}, differ in fields and parameters.",
        },
        newest=MAX,
        microversion={
            "description": f"Version of the API, from {to_text(MIN)} to {newest}; "
            "default: the lowest. 'latest' is the newest.",
            "schema": {"type": "string", "default": f"{MICROVERSIONS.service} {newest}"},
        },
        error_name="Errors",
        error_schema=_ERROR_SCHEMA,
        errors=_ERRORS,
        path_parameter_characters_max=PATH_PARAMETER_CHARACTERS_MAX,
        policy=_policy,
        successes=_successes,
        other_error_types=(falcon.MEDIA_HTML, falcon.MEDIA_TEXT),
    )
    return openapi.document(routes, about)


def _policy(actions: list[Action[Any]]) -> Document:
    (action,) = actions
    return {"x-policy": action.rule, "x-since": to_text(max(action.since, MIN))}


def _successes(actions: list[Action[Any]]) -> Document:
    (action,) = actions
    has_body = action.status != 204
    content = {JSON: {"schema": {"type": "object"}}} if has_body else None
    return {"2XX": openapi.success("Done.", content)}


if __name__ == "__main__":
    openapi.write(document())
