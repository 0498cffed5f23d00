"""Usages of a project, since 1.38 by consumer type."""

from armillary.http.validation import ByVersion, Schema

_ID = {"type": "string", "minLength": 1, "maxLength": 255}
_INDEX: Schema = {
    "type": "object",
    "properties": {"project_id": _ID, "user_id": _ID},
    "required": ["project_id"],
    "additionalProperties": False,
}
_TYPE = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "pattern": "^([A-Z0-9_]+|all|unknown)\\Z",
}

INDEX: ByVersion = {
    (1, 9): _INDEX,
    (1, 38): {**_INDEX, "properties": {**_INDEX["properties"], "consumer_type": _TYPE}},
}
