"""Schemas of the identity API's requests; clients may send more fields than are looked at."""

from api.schemas.base import Schema, ruled
from armillary.identity import passwords
from armillary.identity.accounts import DOMAIN_ID, ID_PATTERN

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

_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 255, "format": "name"}
_PASSWORD: Schema = {"type": "string", "minLength": 1, "maxLength": passwords.CHARACTERS_MAX}
_DESCRIPTION: Schema = {"type": ["string", "null"], "maxLength": 4096}
_DOMAIN_ID = ruled({"enum": [DOMAIN_ID, None]}, f"There is no other domain than '{DOMAIN_ID}'")
_PARENT_ID = ruled(_DOMAIN_ID, f"Projects have no parent but the domain '{DOMAIN_ID}'")
_USER_FIELDS = {
    "name": _NAME,
    "password": {**_PASSWORD, "type": ["string", "null"]},
    "email": {"type": ["string", "null"], "maxLength": 255},
    "description": _DESCRIPTION,
    "enabled": {"type": "boolean"},
    "default_project_id": {"type": ["string", "null"], "maxLength": 255},
    "domain_id": _DOMAIN_ID,
}
_PROJECT_FIELDS = {
    "name": _NAME,
    "description": _DESCRIPTION,
    "enabled": {"type": "boolean"},
    "domain_id": _DOMAIN_ID,
    "parent_id": _PARENT_ID,
    "is_domain": ruled({"const": False}, "Projects cannot be domains"),
    "tags": ruled({"type": "array", "maxItems": 0}, "Projects have no tags"),
}

CREATE_USER = _object({"user": _object(_USER_FIELDS, "name")}, "user")
UPDATE_USER = _object({"user": _object(_USER_FIELDS)}, "user")
CHANGE_PASSWORD = _object(
    {
        "user": _object(
            {"password": _PASSWORD, "original_password": _PASSWORD}, "password", "original_password"
        )
    },
    "user",
)
CREATE_PROJECT = _object({"project": _object(_PROJECT_FIELDS, "name")}, "project")
UPDATE_PROJECT = _object({"project": _object(_PROJECT_FIELDS)}, "project")
CREATE_ROLE = _object(
    {
        "role": _object(
            {
                "name": {"type": "string", "pattern": ID_PATTERN},
                "domain_id": ruled({"const": None}, "Roles belong to no domain"),
            },
            "name",
        )
    },
    "role",
)

_ACCESS_RULES = ruled(
    {"type": ["array", "null"], "maxItems": 0}, "Application credentials have no access rules here"
)
CREATE_CREDENTIAL = _object(
    {
        "application_credential": _object(
            {
                "name": _NAME,
                "description": {"type": ["string", "null"], "maxLength": 255},
                "secret": {**_PASSWORD, "type": ["string", "null"]},
                "roles": {
                    "type": ["array", "null"],
                    "items": _object({"id": _TEXT, "name": _TEXT}),
                    "maxItems": 64,
                },
                "expires_at": {"type": ["string", "null"], "maxLength": 64},
                "unrestricted": {"type": ["boolean", "null"]},
                "access_rules": _ACCESS_RULES,
            },
            "name",
        )
    },
    "application_credential",
)
_CREDENTIAL = _object(
    {
        "id": _TEXT,
        "name": _TEXT,
        "user": _object({"id": _TEXT, "name": _TEXT, "domain": _DOMAIN}),
        "secret": {"type": "string", "maxLength": passwords.CHARACTERS_MAX},
    },
    "secret",
)

CREATE_TOKEN = _object(
    {
        "auth": _object(
            {
                "identity": _object(
                    {
                        "methods": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 8},
                        "password": _object({"user": _USER}, "user"),
                        "application_credential": _CREDENTIAL,
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
