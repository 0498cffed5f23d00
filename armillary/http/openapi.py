"""OpenAPI documents of the newest version of an API, generated from its routes and schemas."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armillary.http import authentication, microversion, request_id
from armillary.http.call import Document
from armillary.http.dispatch import Action, ActionByBody, Method, Methods, Routes, actions_of
from armillary.http.microversion import Version
from armillary.http.validation import Versioned, by_version

OPENAPI_VERSION = "3.1.0"
JSON = "application/json"
SECURITY_SCHEME = "token"


_PATH_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What is particular to the document of one API.

    ``newest`` is the version described, ``microversion`` describes the header that asks for
    another. ``error_schema`` has its name in ``error_name``; ``errors`` are the statuses with their
    descriptions. ``policy`` and ``successes`` return the extension fields and the successful
    responses of an operation.
    """

    info: Document
    newest: Version
    microversion: Document
    error_name: str
    error_schema: Mapping[str, Any]
    errors: Mapping[int, str]
    path_parameter_characters_max: int
    policy: Callable[[list[Action[Any]]], Document]
    successes: Callable[[list[Action[Any]]], Document]
    other_error_types: Sequence[str] = ()
    """Media types of errors for clients that do not take JSON."""


def document(routes: Routes[Any], about: Description) -> Document:
    """Return the description of every route."""
    return {
        "openapi": OPENAPI_VERSION,
        "info": about.info,
        "security": [{SECURITY_SCHEME: []}],
        "paths": {path: _path_item(path, methods, about) for path, methods in routes.items()},
        "components": {
            "securitySchemes": {
                SECURITY_SCHEME: {"type": "apiKey", "in": "header", "name": authentication.HEADER}
            },
            "schemas": {about.error_name: about.error_schema},
            "parameters": {
                "Microversion": {
                    "name": microversion.HEADER,
                    "in": "header",
                    "required": False,
                    **about.microversion,
                }
            },
            "responses": {str(status): _error(status, about) for status in sorted(about.errors)},
        },
    }


def write(made: Document) -> None:
    """Write a document to standard output."""
    json.dump(made, sys.stdout, indent=2)
    sys.stdout.write("\n")


def operation_id(action: Action[Any]) -> str:
    """Return the name of an action: noun and verb, from its handler."""
    return f"{_noun(action)}-{action.handler.__name__}"


def success(description: str, content: Document | None = None) -> Document:
    """Return a successful response, which has the request ID, with its content."""
    described: Document = {
        "description": description,
        "headers": {
            request_id.HEADER: {
                "description": "The id of this request, as it appears in all logs.",
                "schema": {"type": "string"},
            }
        },
    }
    return described if content is None else {**described, "content": content}


def _path_item(path: str, methods: Methods[Any], about: Description) -> Document:
    parameters = [_path_parameter(name, about) for name in _PATH_PARAMETER.findall(path)]
    parameters.append({"$ref": "#/components/parameters/Microversion"})
    operations = {name.lower(): _operation(method, about) for name, method in methods.items()}
    return {"parameters": parameters, **operations}


def _path_parameter(name: str, about: Description) -> Document:
    schema: Document = {
        "type": "string",
        "minLength": 1,
        "maxLength": about.path_parameter_characters_max,
    }
    if name.endswith("uuid"):
        schema["format"] = "uuid"
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(method: Method[Any], about: Description) -> Document:
    actions = actions_of(method)
    first = actions[0]
    operation: Document = {
        "operationId": "-or-".join(operation_id(action) for action in actions),
        "summary": " ".join(_summary(action) for action in actions),
        "tags": [_noun(first)],
        "parameters": list(_query_parameters(newest(first.query, about.newest) or {})),
        "responses": {
            **about.successes(actions),
            **{
                str(status): {"$ref": f"#/components/responses/{status}"}
                for status in sorted(about.errors)
            },
        },
    }
    operation |= {"security": []} if first.rule is None else about.policy(actions)
    bodies = [newest(action.body, about.newest) for action in actions]
    body = {"oneOf": bodies} if isinstance(method, ActionByBody) else bodies[0]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    return operation


def _noun(action: Action[Any]) -> str:
    return action.handler.__module__.rpartition(".")[2]


def _summary(action: Action[Any]) -> str:
    return (action.handler.__doc__ or "").partition("\n")[0]


def _query_parameters(schema: Mapping[str, Any]) -> Iterator[Document]:
    required = schema.get("required", ())
    for name, parameter in schema.get("properties", {}).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": parameter}
    if "patternProperties" in schema:
        yield _numbered_parameters(schema["patternProperties"])


def _numbered_parameters(by_pattern: Mapping[str, Any]) -> Document:
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


def newest(schemas: Versioned | None, version: Version) -> Any:
    """Return the schema of the newest version in portable form, None if there is none."""
    return _portable(microversion.entry_for(version, by_version(schemas)))


def _portable(schema: Any) -> Any:
    r"""Return the schema with portable patterns: Python's ``\Z`` becomes ``$``."""
    if isinstance(schema, Mapping):
        return {_portable(key): _portable(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_portable(item) for item in schema]
    if isinstance(schema, str) and schema.endswith(r"\Z"):
        return schema.removesuffix(r"\Z") + "$"
    return schema


def _error(status: int, about: Description) -> Document:
    schema = {"$ref": f"#/components/schemas/{about.error_name}"}
    content = {JSON: {"schema": schema}}
    content |= {name: {"schema": {"type": "string"}} for name in about.other_error_types}
    return {"description": about.errors[status], "content": content}
