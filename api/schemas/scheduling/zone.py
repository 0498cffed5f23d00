"""Zones: the deployments below this one."""

from api.schemas import base

URL_MAX = 2048
_NAME = base.name(
    r"^[a-zA-Z0-9._-]{1,64}$", "A zone's name has 1 to 64 letters, digits, '.', '_' and '-'"
)

_BRIEF: dict[str, base.Schema] = {
    "name": base.STRING,
    "state": base.STRING,
    "last_seen": base.TIME_OR_NULL,
    "hosts": base.NUMBER_OR_NULL,
    "hosts_up": base.NUMBER_OR_NULL,
    "hosts_disabled": base.NUMBER_OR_NULL,
    "own_hosts": base.NUMBER_OR_NULL,
    "zones_total": base.NUMBER_OR_NULL,
    "depth": base.NUMBER_OR_NULL,
}

NESTED: base.Schema = base.every(
    {"name": base.STRING, "state": base.STRING, "zones": base.listed({"type": "object"})}
)
"""A zone at any depth; each of its zones has the same fields."""

_SETTINGS: dict[str, base.Schema] = {
    "transport_url": base.text(URL_MAX, 1),
    "disabled": base.BOOLEAN,
    "weight_offset": {"type": "number", "minimum": -1e9, "maximum": 1e9},
    "weight_scale": {"type": "number", "minimum": 0, "maximum": 1e6},
    "verify": base.BOOLEAN,
}

CREATE = base.every(
    {"zone": base.fields({"name": _NAME, **_SETTINGS}, required=["name", "transport_url"])}
)
UPDATE = base.every({"zone": {**base.fields(_SETTINGS), "minProperties": 1}})
DELETE_QUERY = base.fields({"force": {"enum": ["true", "false"]}})
REFRESH = base.every({"refresh": base.fields({})})

RECORD_ANSWER = base.every(
    {
        "zone": base.every(
            {
                "uuid": base.UUID,
                "name": base.STRING,
                "disabled": base.BOOLEAN,
                "weight_offset": {"type": "number"},
                "weight_scale": {"type": "number"},
                "created_at": base.TIME_OR_NULL,
                "updated_at": base.TIME_OR_NULL,
            }
        )
    }
)
INDEX_ANSWER = base.every(
    {
        "own": {"anyOf": [base.every(_BRIEF), {"type": "null"}]},
        "zones": base.listed(base.every(_BRIEF)),
    }
)
SHOW_ANSWER = base.every(
    {
        "zone": base.every(
            {**_BRIEF, "capabilities": {"type": ["object", "null"]}, "zones": base.listed(NESTED)}
        )
    }
)
