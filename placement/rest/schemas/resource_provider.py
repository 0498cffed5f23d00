"""Resource providers: list filters, and bodies of creation and update."""

from armillary.http.validation import Schema
from placement.providers.provider_report import NAME_LENGTH_MAX

_NAME = {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH_MAX}
_UUID = {"type": "string", "format": "uuid"}
_UUID_OR_NULL = {"type": ["string", "null"], "format": "uuid"}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _list_query(**more: Schema) -> Schema:
    properties = {"name": _TEXT, "uuid": _UUID, **more}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _named(**more: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"name": _NAME, **more},
        "required": ["name"],
        "additionalProperties": False,
    }


LIST_QUERY = {
    (1, 0): _list_query(),
    (1, 3): _list_query(member_of=_TEXTS),
    (1, 4): _list_query(member_of=_TEXTS, resources=_TEXT),
    (1, 14): _list_query(member_of=_TEXTS, resources=_TEXT, in_tree=_UUID),
    (1, 18): _list_query(member_of=_TEXTS, resources=_TEXT, in_tree=_UUID, required=_TEXTS),
}

CREATE = {
    (1, 0): _named(uuid=_UUID),
    (1, 14): _named(uuid=_UUID, parent_provider_uuid=_UUID_OR_NULL),
}

UPDATE = {(1, 0): _named(), (1, 14): _named(parent_provider_uuid=_UUID_OR_NULL)}
