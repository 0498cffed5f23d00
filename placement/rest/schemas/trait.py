"""Traits, and those of resource providers."""

from armillary.http.validation import Schema

LIST: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "associated": {"type": "string"}},
    "additionalProperties": False,
}

SET: Schema = {
    "type": "object",
    "properties": {
        "traits": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 255}},
        "resource_provider_generation": {"type": "integer"},
    },
    "required": ["traits", "resource_provider_generation"],
    "additionalProperties": False,
}
