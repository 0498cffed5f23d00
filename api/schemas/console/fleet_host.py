"""One host with all that belongs to it."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    STRING_MAP,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    UUID,
    Schema,
    every,
    fields,
    integer,
    listed,
)
from objects.hosts.fleet import HOST_STATES
from objects.hosts.host_event import PAGE_SIZE_MAX

_FIGURE: Schema = {"type": "number"}
_INVENTORY = every(
    {
        "total": NUMBER,
        "reserved": NUMBER,
        "allocation_ratio": _FIGURE,
        "max_unit": NUMBER,
        "capacity": NUMBER,
        "used": NUMBER,
    }
)
_PROVIDER = every(
    {
        "uuid": UUID,
        "name": STRING,
        "parent_uuid": STRING_OR_NULL,
        "inventories": {"type": "object", "additionalProperties": _INVENTORY},
        "traits": STRINGS,
        "aggregates": STRINGS,
    }
)
_NODE = every(
    {
        "uuid": UUID,
        "name": STRING,
        "hypervisor_type": STRING_OR_NULL,
        "numa": {"type": ["object", "null"]},
        "devices": listed(OBJECT),
        "updated_at": TIME_OR_NULL,
    }
)
_SERVER = every(
    {
        "id": UUID,
        "name": STRING,
        "status": STRING,
        "flavor": STRING,
        "project_id": STRING,
        "node": STRING_OR_NULL,
        "created_at": TIME_OR_NULL,
    }
)
_MIGRATION = every(
    {
        "uuid": UUID,
        "server_id": UUID,
        "type": STRING,
        "status": STRING,
        "source_host": STRING_OR_NULL,
        "dest_host": STRING_OR_NULL,
        "created_at": TIME_OR_NULL,
        "updated_at": TIME_OR_NULL,
    }
)

SERVICE = every(
    {
        "id": UUID,
        "binary": STRING,
        "host": STRING,
        "zone": STRING_OR_NULL,
        "status": {"enum": ["enabled", "disabled"]},
        "state": {"enum": ["up", "down"]},
        "updated_at": TIME_OR_NULL,
        "disabled_reason": STRING_OR_NULL,
        "forced_down": BOOLEAN,
        "version": NUMBER,
    }
)
"""A service, by our own names of programs."""

SHOW_ANSWER = every(
    {
        "name": STRING,
        "state": {"enum": list(HOST_STATES)},
        "cell": STRING,
        "zone": STRING_OR_NULL,
        "service": SERVICE,
        "nodes": listed(_NODE),
        "providers": listed(_PROVIDER),
        "aggregates": STRING_MAP,
        "servers": listed(_SERVER),
        "migrations": listed(_MIGRATION),
    }
)

EVENTS_QUERY = fields(
    {
        "limit": integer(minimum=1, maximum=PAGE_SIZE_MAX),
        "marker": {"type": "string", "maxLength": 64},
    }
)

_EVENT = every(
    {
        "at": TIME_OR_NULL,
        "ended_at": TIME_OR_NULL,
        "event": STRING,
        "result": STRING_OR_NULL,
        "details": STRING_OR_NULL,
        "action": STRING_OR_NULL,
        "server_id": STRING_OR_NULL,
        "server_name": STRING_OR_NULL,
        "request_id": STRING_OR_NULL,
        "project_id": STRING_OR_NULL,
        "user_id": STRING_OR_NULL,
    }
)

EVENTS_ANSWER = every({"events": listed(_EVENT), "next_marker": STRING_OR_NULL})
