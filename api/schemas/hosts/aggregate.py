"""Aggregates: sets of hosts with metadata."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    HOST,
    KEY_PATTERN,
    MAP_SIZE_MAX,
    NUMBER,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    STRINGS,
    TEXT_MAX,
    TIME_OR_NULL,
    UUID,
    ZONE,
    Part,
    Schema,
    every,
    fields,
    listed,
    name,
    nullable,
    own,
    since,
)

CREATE = fields(
    {"aggregate": fields({"name": name(), "availability_zone": nullable(ZONE)}, required=["name"])},
    required=["aggregate"],
)

UPDATE = every(
    {
        "aggregate": {
            **fields({"name": name(), "availability_zone": nullable(ZONE)}),
            "minProperties": 1,
        }
    }
)

CACHE_SINCE = (2, 81)
CACHE_IMAGES = every(
    {"cache": {**listed(every({"id": UUID})), "minItems": 1, "maxItems": 100, "uniqueItems": True}}
)

ADD_HOST = every({"add_host": every({"host": HOST})})
REMOVE_HOST = every({"remove_host": every({"host": HOST})})

_METADATA: Schema = {
    "type": "object",
    "properties": {"availability_zone": nullable(ZONE)},
    "propertyNames": name(KEY_PATTERN, "A key may contain letters, digits, spaces and -_:. only"),
    "additionalProperties": {"type": ["string", "null"], "maxLength": TEXT_MAX},
    "maxProperties": MAP_SIZE_MAX,
}
SET_METADATA = every({"set_metadata": every({"metadata": _METADATA})})

_MADE: dict[str, Part] = {
    "id": NUMBER,
    "uuid": since(2, 41, STRING),
    "name": STRING,
    "availability_zone": STRING_OR_NULL,
    "created_at": TIME_OR_NULL,
    "updated_at": TIME_OR_NULL,
    "deleted_at": {"type": "null"},
    "deleted": BOOLEAN,
}
AGGREGATE = every({**_MADE, "hosts": STRINGS, "metadata": STRING_MAP})

CREATE_ANSWER = every(
    {"aggregate": every({**_MADE, "hosts": own(STRINGS), "metadata": own(STRING_MAP)})}
)

SHOW_ANSWER = every({"aggregate": AGGREGATE})
INDEX_ANSWER = every({"aggregates": listed(AGGREGATE)})
