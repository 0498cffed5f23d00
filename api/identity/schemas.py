"""Schemas of the identity API's requests; clients may send more fields than are looked at."""

from typing import Any

from armillary.identity import passwords

Schema = dict[str, Any]

ANY_QUERY: Schema = {"type": "object"}

_TEXT: Schema = {"type": "string", "maxLength": 255}


def _object(properties: dict[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


_DOMAIN = _object({"id": _TEXT, "name": _TEXT})
_USER = _object(
    {
        "id": _TEXT,
        "name": _TEXT,
        "domain": _DOMAIN,
        "password": {"type": "string", "maxLength": passwords.CHARACTERS_MAX},
    },
    "password",
)
_SCOPE = _object(
    {
        "project": _object({"id": _TEXT, "name": _TEXT, "domain": _DOMAIN}),
        "domain": _DOMAIN,
        "system": {"type": "object"},
    }
)

CREATE_TOKEN = _object(
    {
        "auth": _object(
            {
                "identity": _object(
                    {
                        "methods": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 8},
                        "password": _object({"user": _USER}, "user"),
                        "token": _object({"id": {"type": "string", "maxLength": 8192}}, "id"),
                    },
                    "methods",
                ),
                "scope": {"anyOf": [_SCOPE, {"const": "unscoped"}]},
            },
            "identity",
        )
    },
    "auth",
)
