"""Allocations of consumers: a list up to 1.11, an object by provider since 1.12."""

from armillary.http.validation import ByVersion, Schema

UUID_KEY = "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\\Z"

_OWNER_ID = {"type": "string", "minLength": 1, "maxLength": 255}
_OWNER = {"project_id": _OWNER_ID, "user_id": _OWNER_ID}
_GENERATION = {"consumer_generation": {"type": ["integer", "null"]}}
_TYPE = {
    "consumer_type": {
        "type": "string",
        "pattern": "^[A-Z0-9_]+$",
        "not": {"pattern": "\\n"},
        "minLength": 1,
        "maxLength": 255,
    }
}
_MAPPINGS = {
    "mappings": {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {
            "^([a-zA-Z0-9_-]{1,64})?\\Z": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "string", "format": "uuid"},
            }
        },
        "additionalProperties": False,
    }
}
_RESOURCES: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1000,
    "patternProperties": {"^[0-9A-Z_]{1,255}\\Z": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}


def _object(properties: Schema, *optional: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_LIST = {
    "allocations": {
        "type": "array",
        "minItems": 1,
        "items": _object(
            {
                "resource_provider": _object({"uuid": {"type": "string", "format": "uuid"}}),
                "resources": _RESOURCES,
            }
        ),
    }
}
_BY_PROVIDER: Schema = {
    "type": "object",
    "patternProperties": {
        # Clients may send back a response, which has generations.
        UUID_KEY: _object(
            {"generation": {"type": "integer"}, "resources": _RESOURCES}, "generation"
        )
    },
    "additionalProperties": False,
}
_MAY_BE_EMPTY = {"allocations": _BY_PROVIDER}
_NOT_EMPTY = {"allocations": {**_BY_PROVIDER, "minProperties": 1}}

_WRITE_1_13 = _object({**_MAY_BE_EMPTY, **_OWNER})
WRITE_1_28 = _object({**_MAY_BE_EMPTY, **_OWNER, **_GENERATION})
WRITE_1_34 = _object({**_MAY_BE_EMPTY, **_OWNER, **_GENERATION, **_MAPPINGS}, "mappings")
WRITE_1_38 = _object({**_MAY_BE_EMPTY, **_OWNER, **_GENERATION, **_MAPPINGS, **_TYPE}, "mappings")


def by_consumer(write: Schema) -> Schema:
    """Return the schema of a mapping of consumer -> allocations."""
    return {"type": "object", "patternProperties": {UUID_KEY: write}, "additionalProperties": False}


UPDATE: ByVersion = {
    (1, 0): _object(_LIST),
    (1, 8): _object({**_LIST, **_OWNER}),
    (1, 12): _object({**_NOT_EMPTY, **_OWNER}),
    (1, 28): WRITE_1_28,
    (1, 34): WRITE_1_34,
    (1, 38): WRITE_1_38,
}
MANAGE: ByVersion = {
    (1, 13): {**by_consumer(_WRITE_1_13), "minProperties": 1},
    (1, 28): {**by_consumer(WRITE_1_28), "minProperties": 1},
    (1, 34): {**by_consumer(WRITE_1_34), "minProperties": 1},
    (1, 38): {**by_consumer(WRITE_1_38), "minProperties": 1},
}
