"""OpenAPI document, generated from routes and schemas; ``python -m api.openapi`` prints it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from api.dispatch import Action, Choice, Method, Routes, actions_of
from api.routes import ROUTES
from api.schemas.base import ERROR
from api.validation import PATH_PARAMETER_CHARACTERS_MAX
from api.versions import MICROVERSIONS
from armillary import version
from armillary.http import authentication, microversion, request_id
from armillary.http.errors import RETRY_AFTER_SECONDS

OPENAPI_VERSION = "3.1.0"
JSON = "application/json"
SECURITY_SCHEME = "token"

Document = dict[str, Any]

_PATH_PARAMETER = re.compile(r"{(\w+)}")


def document(routes: Routes = ROUTES) -> Document:
    """Return the description of every route."""
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": version.PRODUCT,
            "version": version.version_string(),
            "description": "Servers on a fleet of hosts, with formats and paths of the OpenStack "
            "Compute API 2.1. Names of Armillary's extensions begin with 'armillary'.",
        },
        "security": [{SECURITY_SCHEME: []}],
        "paths": {path: _path_item(path, methods) for path, methods in routes.items()},
        "components": {
            "securitySchemes": {
                SECURITY_SCHEME: {
                    "type": "apiKey",
                    "in": "header",
                    "name": authentication.HEADER,
                }
            },
            "schemas": {"Error": ERROR},
            "parameters": {"Microversion": _microversion_parameter()},
            "responses": {str(status): _error(status) for status in _error_statuses()},
        },
    }


def _path_item(path: str, methods: Mapping[str, Method]) -> Document:
    parameters: list[Document] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": PATH_PARAMETER_CHARACTERS_MAX,
            },
        }
        for name in _PATH_PARAMETER.findall(path)
    ]
    parameters.append({"$ref": "#/components/parameters/Microversion"})
    operations = {name.lower(): _operation(method) for name, method in methods.items()}
    return {"parameters": parameters, **operations}


def _operation(method: Method) -> Document:
    actions = actions_of(method)
    first = actions[0]
    operation: Document = {
        "operationId": "-or-".join(operation_id(action) for action in actions),
        "summary": " ".join(_summary(action) for action in actions),
        "tags": [_noun(first)],
        "parameters": list(_query_parameters(first)),
        "responses": {
            **_successes(actions),
            **{
                str(status): {"$ref": f"#/components/responses/{status}"}
                for status in _error_statuses()
            },
        },
    }
    if first.rule is None:
        operation["security"] = []
    else:
        operation["x-policy"] = [action.rule for action in actions]
    body = _body(method)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    return operation


def operation_id(action: Action) -> str:
    """Return the name of an action: noun and verb, from its handler."""
    return f"{_noun(action)}-{action.handler.__name__}"


def _noun(action: Action) -> str:
    return action.handler.__module__.rpartition(".")[2]


def _summary(action: Action) -> str:
    return (action.handler.__doc__ or "").partition("\n")[0]


def _query_parameters(action: Action) -> Iterator[Document]:
    required = action.query.get("required", ())
    for name, schema in action.query.get("properties", {}).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": schema}


def _body(method: Method) -> Any:
    if isinstance(method, Choice):
        return {"oneOf": [action.body for action in method.actions.values()]}
    return method.body


def _successes(actions: list[Action]) -> Document:
    """Return the responses by status; actions with the same status have equal responses."""
    return {str(action.status): _success(action) for action in reversed(actions)}


def _success(action: Action) -> Document:
    success: Document = {
        "description": "Done." if action.status != 202 else "Accepted.",
        "headers": {
            request_id.HEADER: {
                "description": "The id of this request, as it appears in all logs.",
                "schema": {"type": "string"},
            }
        },
    }
    if action.answer is not None:
        success["content"] = {action.media_type: {"schema": action.answer}}
    return success


def _error_statuses() -> list[int]:
    return sorted(_DESCRIPTIONS)


_DESCRIPTIONS = {
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
    503: f"A part of the service is unavailable; try again after {RETRY_AFTER_SECONDS} seconds.",
    504: "The request timed out; the outcome is unknown.",
}


def _error(status: int) -> Document:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": _DESCRIPTIONS[status], "content": {JSON: {"schema": schema}}}


def _microversion_parameter() -> Document:
    newest = microversion.to_text(MICROVERSIONS.maximum)
    return {
        "name": microversion.HEADER,
        "in": "header",
        "required": False,
        "description": f"Version of the Compute API; {newest} is supported.",
        "schema": {"type": "string"},
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
