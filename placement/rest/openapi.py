"""OpenAPI document of the newest version, generated from routes and schemas.

``python -m placement.rest.openapi`` prints it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from armillary import version
from armillary.http import authentication, request_id
from armillary.http.errors import RETRY_AFTER_SECONDS
from armillary.http.microversion import HEADER, entry_for, to_text
from armillary.http.validation import ByVersion, Schema
from placement.rest.dispatch import Action, Methods, Routes
from placement.rest.routes import ROUTES
from placement.rest.validation import PATH_PARAMETER_CHARACTERS_MAX
from placement.rest.versions import MAX, MICROVERSIONS, MIN

OPENAPI_VERSION = "3.1.0"
JSON = "application/json"
SECURITY_SCHEME = "token"

Document = dict[str, Any]

_PATH_PARAMETER = re.compile(r"{(\w+)}")
_NOTHING: Schema = {}

ERRORS: Document = {
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


def document(routes: Routes = ROUTES) -> Document:
    """Return the description of every route in the newest version."""
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": f"{version.PRODUCT} placement",
            "version": to_text(MAX),
            "description": "The OpenStack Placement API. Older versions, requested by the header "
            f"{HEADER}, differ in fields and parameters.",
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
            "schemas": {"Errors": ERRORS},
            "parameters": {"Microversion": _microversion_parameter()},
            "responses": {str(status): _error(status) for status in _error_statuses()},
        },
    }


def _path_item(path: str, methods: Methods) -> Document:
    parameters: list[Document] = [_path_parameter(name) for name in _PATH_PARAMETER.findall(path)]
    parameters.append({"$ref": "#/components/parameters/Microversion"})
    operations = {name.lower(): _operation(action) for name, action in methods.items()}
    return {"parameters": parameters, **operations}


def _path_parameter(name: str) -> Document:
    schema: Document = {
        "type": "string",
        "minLength": 1,
        "maxLength": PATH_PARAMETER_CHARACTERS_MAX,
    }
    if name.endswith("uuid"):
        schema["format"] = "uuid"
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(action: Action) -> Document:
    operation: Document = {
        "operationId": operation_id(action),
        "summary": _summary(action),
        "tags": [_noun(action)],
        "parameters": list(_query_parameters(action)),
        "responses": {
            "2XX": _success(action),
            **{
                str(status): {"$ref": f"#/components/responses/{status}"}
                for status in _error_statuses()
            },
        },
    }
    if action.rule is None:
        operation["security"] = []
    else:
        operation["x-policy"] = action.rule
        operation["x-since"] = to_text(action.since)
    body = _newest(action.body)
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
    schema = _newest(action.query) or _NOTHING
    required = schema.get("required", ())
    for name, parameter in schema.get("properties", {}).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": parameter}
    if "patternProperties" in schema:
        yield _numbered_parameters(schema["patternProperties"])


def _numbered_parameters(by_pattern: Schema) -> Document:
    """Return the parameters whose names have a suffix chosen by the client.

    OpenAPI has no name patterns: it is an object whose properties become parameters.
    """
    return {
        "name": "groups",
        "in": "query",
        "required": False,
        "style": "form",
        "explode": True,
        "schema": {
            "type": "object",
            "patternProperties": by_pattern,
            "additionalProperties": False,
        },
    }


def _newest(schemas: ByVersion | None) -> Any:
    return _portable(entry_for(MAX, schemas)) if schemas else None


def _portable(schema: Any) -> Any:
    r"""Return the schema with portable patterns: Python's ``\Z`` becomes ``$``."""
    if isinstance(schema, Mapping):
        return {_portable_text(key): _portable(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_portable(item) for item in schema]
    return _portable_text(schema)


def _portable_text(value: Any) -> Any:
    return value.removesuffix(r"\Z") + "$" if _ends_in_python(value) else value


def _ends_in_python(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(r"\Z")


def _success(action: Action) -> Document:
    success: Document = {
        "description": "Done.",
        "headers": {
            request_id.HEADER: {
                "description": "The id of this request, as it appears in all logs.",
                "schema": {"type": "string"},
            }
        },
    }
    if action.status != 204:
        success["content"] = {JSON: {"schema": {"type": "object"}}}
    return success


def _error_statuses() -> list[int]:
    return sorted(_DESCRIPTIONS)


_DESCRIPTIONS = {
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


def _error(status: int) -> Document:
    schema = {"$ref": "#/components/schemas/Errors"}
    return {"description": _DESCRIPTIONS[status], "content": {JSON: {"schema": schema}}}


def _microversion_parameter() -> Document:
    newest = to_text(MAX)
    return {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": f"Version of the API, from {to_text(MIN)} to {newest}; "
        f"default: the lowest. 'latest' is the newest.",
        "schema": {"type": "string", "default": f"{MICROVERSIONS.service} {newest}"},
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
