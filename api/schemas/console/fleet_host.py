"""One host with all that belongs to it."""

from api.schemas import base
from objects.hosts.fleet import HOST_STATES
from objects.hosts.host_event import PAGE_SIZE_MAX

_FIGURE: base.Schema = {"type": "number"}
_INVENTORY = base.every(
    {
        "total": base.NUMBER,
        "reserved": base.NUMBER,
        "allocation_ratio": _FIGURE,
        "max_unit": base.NUMBER,
        "capacity": base.NUMBER,
        "used": base.NUMBER,
    }
)
_PROVIDER = base.every(
    {
        "uuid": base.UUID,
        "name": base.STRING,
        "parent_uuid": base.STRING_OR_NULL,
        "inventories": {"type": "object", "additionalProperties": _INVENTORY},
        "traits": base.STRINGS,
        "aggregates": base.STRINGS,
    }
)
_NODE = base.every(
    {
        "uuid": base.UUID,
        "name": base.STRING,
        "hypervisor_type": base.STRING_OR_NULL,
        "numa": {"type": ["object", "null"]},
        "devices": base.listed(base.OBJECT),
        "updated_at": base.TIME_OR_NULL,
    }
)
_SERVER = base.every(
    {
        "id": base.UUID,
        "name": base.STRING,
        "status": base.STRING,
        "flavor": base.STRING,
        "project_id": base.STRING,
        "node": base.STRING_OR_NULL,
        "created_at": base.TIME_OR_NULL,
    }
)
_MIGRATION = base.every(
    {
        "uuid": base.UUID,
        "server_id": base.UUID,
        "type": base.STRING,
        "status": base.STRING,
        "source_host": base.STRING_OR_NULL,
        "dest_host": base.STRING_OR_NULL,
        "created_at": base.TIME_OR_NULL,
        "updated_at": base.TIME_OR_NULL,
    }
)

SERVICE = base.every(
    {
        "id": base.UUID,
        "binary": base.STRING,
        "host": base.STRING,
        "zone": base.STRING_OR_NULL,
        "status": {"enum": ["enabled", "disabled"]},
        "state": {"enum": ["up", "down"]},
        "updated_at": base.TIME_OR_NULL,
        "disabled_reason": base.STRING_OR_NULL,
        "forced_down": base.BOOLEAN,
        "version": base.NUMBER,
    }
)
"""A service, by our own names of programs."""

SHOW_ANSWER = base.every(
    {
        "name": base.STRING,
        "state": {"enum": list(HOST_STATES)},
        "cell": base.STRING,
        "zone": base.STRING_OR_NULL,
        "service": SERVICE,
        "nodes": base.listed(_NODE),
        "providers": base.listed(_PROVIDER),
        "aggregates": base.STRING_MAP,
        "servers": base.listed(_SERVER),
        "migrations": base.listed(_MIGRATION),
    }
)

EVENTS_QUERY = base.fields(
    {
        "limit": base.integer(minimum=1, maximum=PAGE_SIZE_MAX),
        "marker": {"type": "string", "maxLength": 64},
    }
)

_EVENT = base.every(
    {
        "at": base.TIME_OR_NULL,
        "ended_at": base.TIME_OR_NULL,
        "event": base.STRING,
        "result": base.STRING_OR_NULL,
        "details": base.STRING_OR_NULL,
        "action": base.STRING_OR_NULL,
        "server_id": base.STRING_OR_NULL,
        "server_name": base.STRING_OR_NULL,
        "request_id": base.STRING_OR_NULL,
        "project_id": base.STRING_OR_NULL,
        "user_id": base.STRING_OR_NULL,
    }
)

EVENTS_ANSWER = base.every({"events": base.listed(_EVENT), "next_marker": base.STRING_OR_NULL})
