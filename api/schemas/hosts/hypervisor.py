"""Hypervisors: resources and usage of hosts."""

from typing import Any

from api.schemas import base
from armillary.http.microversion import BEGINNING
from armillary.http.ranges import Ranged

_UUIDS_SINCE = (2, 53)
_SIZES_UNTIL = (2, 87)

_SERVERS_QUERY = {"with_servers": base.once(base.BOOLEAN)}
_PATTERN_QUERY = {"hypervisor_hostname_pattern": base.once(base.name()), **_SERVERS_QUERY}

INDEX_QUERY = {
    BEGINNING: base.open_fields({}),
    (2, 33): base.open_fields(base.PAGE),
    (2, 53): base.open_fields({**base.PAGE, **_PATTERN_QUERY}),
    (2, 75): base.fields({**base.PAGE, **_PATTERN_QUERY}),
}
SHOW_QUERY = {
    BEGINNING: base.open_fields({}),
    (2, 53): base.open_fields(_SERVERS_QUERY),
    (2, 75): base.fields(_SERVERS_QUERY),
}

_ID = base.changed(_UUIDS_SINCE, before=base.NUMBER, after=base.STRING)
_SERVICE_ID = base.changed(_UUIDS_SINCE, before=base.NUMBER_OR_NULL, after=base.STRING_OR_NULL)
_SERVER = base.every({"uuid": base.STRING, "name": base.STRING})

_BRIEF: dict[str, base.Part] = {
    "id": _ID,
    "hypervisor_hostname": base.STRING,
    "state": {"enum": ["up", "down"]},
    "status": {"enum": ["enabled", "disabled"]},
}
_WITH_SERVERS: dict[str, base.Part] = {"servers": base.since(2, 53, base.listed(_SERVER))}

_SIZES = {
    "vcpus": base.NUMBER,
    "vcpus_used": base.NUMBER,
    "memory_mb": base.NUMBER,
    "memory_mb_used": base.NUMBER,
    "free_ram_mb": base.NUMBER,
    "local_gb": base.NUMBER,
    "local_gb_used": base.NUMBER,
    "free_disk_gb": base.NUMBER,
    "disk_available_least": base.NUMBER_OR_NULL,
    "running_vms": base.NUMBER,
    "current_workload": base.NUMBER,
}
"""Sizes, of which placement knows better since version 2.88."""


def _until_placement(schema: Any) -> tuple[Ranged, ...]:
    return Ranged(schema, until=_SIZES_UNTIL), base.own(schema)


_DETAILS: dict[str, base.Part] = {
    **_BRIEF,
    "host_ip": base.STRING,
    "hypervisor_type": base.STRING,
    "hypervisor_version": base.NUMBER,
    "cpu_info": _until_placement(base.changed((2, 28), before=base.STRING, after=base.OBJECT)),
    "service": base.every(
        {"id": _SERVICE_ID, "host": base.STRING, "disabled_reason": base.STRING_OR_NULL}
    ),
    **{size: _until_placement(schema) for size, schema in _SIZES.items()},
    "uptime": base.since(2, 88, base.STRING_OR_NULL),
    "armillary:availability_zone": base.STRING_OR_NULL,
    "armillary:cell_uuid": base.STRING_OR_NULL,
    "armillary:isolation": base.OBJECT,
    "armillary:traits": base.STRINGS,
    "armillary:inventories": base.OBJECT,
    "armillary:usages": base.OBJECT,
    "armillary:updated_at": base.TIME_OR_NULL,
}

_LIST_EXTRAS: dict[str, base.Part] = {
    "hypervisors_links": base.since(2, 33, base.LINKS),
    "armillary:down_cells": base.STRINGS,
}

INDEX_ANSWER = base.fields(
    {"hypervisors": base.listed(base.fields({**_BRIEF, **_WITH_SERVERS}, _BRIEF)), **_LIST_EXTRAS},
    ["hypervisors"],
)
DETAIL_ANSWER = base.fields(
    {
        "hypervisors": base.listed(base.fields({**_DETAILS, **_WITH_SERVERS}, _DETAILS)),
        **_LIST_EXTRAS,
    },
    ["hypervisors"],
)
SEARCH_UNTIL = (2, 52)
"""The last version with paths to search; later ones have a query parameter."""
SIZES_UNTIL = _SIZES_UNTIL

SEARCH_ANSWER = base.every({"hypervisors": base.listed(base.every(_BRIEF))})
SERVERS_ANSWER = base.every(
    {"hypervisors": base.listed(base.fields({**_BRIEF, "servers": base.listed(_SERVER)}, _BRIEF))}
)
STATISTICS_ANSWER = base.every(
    {"hypervisor_statistics": base.every({"count": base.NUMBER, **_SIZES})}
)
UPTIME_ANSWER = base.every({"hypervisor": base.every({**_BRIEF, "uptime": base.STRING})})

SHOW_ANSWER = base.every({"hypervisor": base.fields({**_DETAILS, **_WITH_SERVERS}, _DETAILS)})
