"""Pools: their resources by class."""

from api.schemas.base import NUMBER, STRING, STRINGS, every, fields, listed, name

INDEX_QUERY = fields({"kind": name()})

_RESOURCE = every(
    {
        "total": NUMBER,
        "reserved": NUMBER,
        "used": NUMBER,
        "free": NUMBER,
        "allocation_ratio": {"type": "number"},
    }
)
INDEX_ANSWER = every(
    {
        "pools": listed(
            every(
                {
                    "id": STRING,
                    "name": STRING,
                    "kind": STRING,
                    "status": STRING,
                    "claims": NUMBER,
                    "traits": STRINGS,
                    "aggregates": STRINGS,
                    "resources": {"type": "object", "additionalProperties": _RESOURCE},
                }
            )
        )
    }
)
