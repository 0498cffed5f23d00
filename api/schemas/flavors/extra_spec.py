"""Extra specs: named string properties of a flavor."""

from api.schemas.base import STRING_MAP, Schema, every, text, text_map

EXTRA_SPECS: Schema = {
    **text_map(),
    "additionalProperties": {**text(), "type": ["string", "number"]},
}
"""Values may be numbers, which are stored as text."""

CREATE = every({"extra_specs": EXTRA_SPECS})

UPDATE: Schema = {**EXTRA_SPECS, "minProperties": 1, "maxProperties": 1}
"""One pair; its key must be that of the path."""

INDEX_ANSWER = every({"extra_specs": STRING_MAP})
PAIR_ANSWER = STRING_MAP
