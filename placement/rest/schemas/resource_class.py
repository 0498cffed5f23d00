"""Resource classes: custom names."""

from armillary.http.validation import Schema

NAME: Schema = {"type": "string", "pattern": "^CUSTOM\\_[A-Z0-9_]+\\Z", "maxLength": 255}

NAMED: Schema = {
    "type": "object",
    "properties": {"name": NAME},
    "required": ["name"],
    "additionalProperties": False,
}
"""The body that creates or renames a class."""
