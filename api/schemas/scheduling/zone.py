"""Zones: the deployments below this one."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER_OR_NULL,
    STRING,
    TIME_OR_NULL,
    UUID,
    Schema,
    every,
    fields,
    listed,
    name,
    text,
)

URL_MAX = 2048
_NAME = name(
    r"^[a-zA-Z0-9._-]{1,64}$", "A zone's name has 1 to 64 letters, digits, '.', '_' and '-'"
)

_BRIEF: dict[str, Schema] = {
    "name": STRING,
    "state": STRING,
    "last_seen": TIME_OR_NULL,
    "hosts": NUMBER_OR_NULL,
    "hosts_up": NUMBER_OR_NULL,
    "hosts_disabled": NUMBER_OR_NULL,
    "own_hosts": NUMBER_OR_NULL,
    "zones_total": NUMBER_OR_NULL,
    "depth": NUMBER_OR_NULL,
}

NESTED: Schema = every({"name": STRING, "state": STRING, "zones": listed({"type": "object"})})
"""A zone at any depth; each of its zones has the same fields."""

_SETTINGS: dict[str, Schema] = {
    "transport_url": text(URL_MAX, 1),
    "disabled": BOOLEAN,
    "weight_offset": {"type": "number", "minimum": -1e9, "maximum": 1e9},
    "weight_scale": {"type": "number", "minimum": 0, "maximum": 1e6},
    "verify": BOOLEAN,
}

CREATE = every({"zone": fields({"name": _NAME, **_SETTINGS}, required=["name", "transport_url"])})
UPDATE = every({"zone": {**fields(_SETTINGS), "minProperties": 1}})
DELETE_QUERY = fields({"force": {"enum": ["true", "false"]}})
REFRESH = every({"refresh": fields({})})

RECORD_ANSWER = every(
    {
        "zone": every(
            {
                "uuid": UUID,
                "name": STRING,
                "disabled": BOOLEAN,
                "weight_offset": {"type": "number"},
                "weight_scale": {"type": "number"},
                "created_at": TIME_OR_NULL,
                "updated_at": TIME_OR_NULL,
            }
        )
    }
)
INDEX_ANSWER = every(
    {"own": {"anyOf": [every(_BRIEF), {"type": "null"}]}, "zones": listed(every(_BRIEF))}
)
SHOW_ANSWER = every(
    {
        "zone": every(
            {**_BRIEF, "capabilities": {"type": ["object", "null"]}, "zones": listed(NESTED)}
        )
    }
)
