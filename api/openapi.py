"""OpenAPI document of the Compute API; ``python -m api.openapi`` prints it."""

from typing import Any

from api.routes import ROUTES
from api.schemas.base import ERROR
from api.validation import PATH_PARAMETER_CHARACTERS_MAX
from api.versions import MICROVERSIONS
from armillary import version
from armillary.http import openapi
from armillary.http.call import Document
from armillary.http.dispatch import Action
from armillary.http.errors import RETRY_AFTER_SECONDS
from armillary.http.microversion import to_text

_ERRORS = {
    400: "The request is invalid; the message names the field and the rule. Nothing was changed.",
    401: "The request needs a valid token.",
    403: "The policy or a quota does not allow it.",
    404: "The object of the path does not exist, or belongs to another project.",
    405: "The path does not support this method.",
    406: "The requested version is not supported.",
    409: "It exists already, is in use, or was changed concurrently.",
    411: "The body has no Content-Length.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    500: "An unexpected error; search the logs for the request id.",
    501: "No driver supports it.",
    503: f"A part of the service is unavailable; try again after {RETRY_AFTER_SECONDS} seconds.",
    504: "The request timed out; the outcome is unknown.",
}


def document() -> Document:
    """Return the description of every route."""
    newest = to_text(MICROVERSIONS.maximum)
    about = openapi.Description(
        info={
            "title": version.PRODUCT,
            "version": version.version_string(),
            "description": "Servers on a fleet of hosts, with formats and paths of the OpenStack "
            "Compute API 2.1. Names of Armillary's extensions begin with 'armillary'.",
        },
        newest=MICROVERSIONS.maximum,
        microversion={
            "description": f"Version of the Compute API; {newest} is supported.",
            "schema": {"type": "string"},
        },
        error_name="Error",
        error_schema=ERROR,
        errors=_ERRORS,
        path_parameter_characters_max=PATH_PARAMETER_CHARACTERS_MAX,
        policy=lambda actions: {"x-policy": [action.rule for action in actions]},
        successes=_successes,
    )
    return openapi.document(ROUTES, about)


def _successes(actions: list[Action[Any]]) -> Document:
    """Return the responses by status; actions with the same status have equal responses."""
    known = {"304": openapi.success("The answer with the ETag in If-None-Match is still right.")}
    return {
        **{str(action.status): _success(action) for action in reversed(actions)},
        **(known if any(action.has_etag for action in actions) else {}),
    }


def _success(action: Action[Any]) -> Document:
    description = "Accepted." if action.status == 202 else "Done."
    schema = openapi.newest(action.answer, MICROVERSIONS.maximum)
    content = None if schema is None else {action.media_type: {"schema": schema}}
    return openapi.success(description, content)


if __name__ == "__main__":
    openapi.write(document())
