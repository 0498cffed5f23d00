"""Zones: the deployments below this one."""

from __future__ import annotations

from typing import Any

from api.schemas.base import NUMBER_OR_NULL, STRING, TIME_OR_NULL, Schema, every, fields, listed

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

_NESTED: dict[str, Any] = every(
    {"name": STRING, "state": STRING, "zones": listed({"type": "object"})}
)
"""A zone at any depth; each of its zones has the same fields."""

REFRESH = every({"refresh": fields({})})

INDEX_ANSWER = every(
    {"own": {"anyOf": [every(_BRIEF), {"type": "null"}]}, "zones": listed(every(_BRIEF))}
)
SHOW_ANSWER = every(
    {
        "zone": every(
            {**_BRIEF, "capabilities": {"type": ["object", "null"]}, "zones": listed(_NESTED)}
        )
    }
)
