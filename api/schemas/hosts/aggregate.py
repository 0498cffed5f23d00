"""Aggregates: sets of hosts with metadata."""

from api.schemas import base

CREATE = base.fields(
    {
        "aggregate": base.fields(
            {"name": base.name(), "availability_zone": base.nullable(base.ZONE)}, required=["name"]
        )
    },
    required=["aggregate"],
)

UPDATE = base.every(
    {
        "aggregate": {
            **base.fields({"name": base.name(), "availability_zone": base.nullable(base.ZONE)}),
            "minProperties": 1,
        }
    }
)

CACHE_SINCE = (2, 81)
CACHE_IMAGES = base.every(
    {
        "cache": {
            **base.listed(base.every({"id": base.UUID})),
            "minItems": 1,
            "maxItems": 100,
            "uniqueItems": True,
        }
    }
)

ADD_HOST = base.every({"add_host": base.every({"host": base.HOST})})
REMOVE_HOST = base.every({"remove_host": base.every({"host": base.HOST})})

_METADATA: base.Schema = {
    "type": "object",
    "properties": {"availability_zone": base.nullable(base.ZONE)},
    "propertyNames": base.name(
        base.KEY_PATTERN, "A key may contain letters, digits, spaces and -_:. only"
    ),
    "additionalProperties": {"type": ["string", "null"], "maxLength": base.TEXT_MAX},
    "maxProperties": base.MAP_SIZE_MAX,
}
SET_METADATA = base.every({"set_metadata": base.every({"metadata": _METADATA})})

_MADE: dict[str, base.Part] = {
    "id": base.NUMBER,
    "uuid": base.since(2, 41, base.STRING),
    "name": base.STRING,
    "availability_zone": base.STRING_OR_NULL,
    "created_at": base.TIME_OR_NULL,
    "updated_at": base.TIME_OR_NULL,
    "deleted_at": {"type": "null"},
    "deleted": base.BOOLEAN,
}
AGGREGATE = base.every({**_MADE, "hosts": base.STRINGS, "metadata": base.STRING_MAP})

CREATE_ANSWER = base.every(
    {
        "aggregate": base.every(
            {**_MADE, "hosts": base.own(base.STRINGS), "metadata": base.own(base.STRING_MAP)}
        )
    }
)

SHOW_ANSWER = base.every({"aggregate": AGGREGATE})
INDEX_ANSWER = base.every({"aggregates": base.listed(AGGREGATE)})
