"""Hypervisors: resources and usage of hosts."""

from __future__ import annotations

from typing import Any

from api.schemas.base import (
    BOOLEAN,
    LINKS,
    NUMBER,
    NUMBER_OR_NULL,
    OBJECT,
    PAGE,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    Part,
    changed,
    every,
    fields,
    listed,
    name,
    once,
    open_fields,
    own,
    since,
)
from armillary.http.microversion import BEGINNING
from armillary.http.ranges import Ranged

_UUIDS_SINCE = (2, 53)
_SIZES_UNTIL = (2, 87)

_SERVERS_QUERY = {"with_servers": once(BOOLEAN)}
_PATTERN_QUERY = {"hypervisor_hostname_pattern": once(name()), **_SERVERS_QUERY}

INDEX_QUERY = {
    BEGINNING: open_fields({}),
    (2, 33): open_fields(PAGE),
    (2, 53): open_fields({**PAGE, **_PATTERN_QUERY}),
    (2, 75): fields({**PAGE, **_PATTERN_QUERY}),
}
SHOW_QUERY = {
    BEGINNING: open_fields({}),
    (2, 53): open_fields(_SERVERS_QUERY),
    (2, 75): fields(_SERVERS_QUERY),
}

_ID = changed(_UUIDS_SINCE, before=NUMBER, after=STRING)
_SERVICE_ID = changed(_UUIDS_SINCE, before=NUMBER_OR_NULL, after=STRING_OR_NULL)
_SERVER = every({"uuid": STRING, "name": STRING})

_BRIEF: dict[str, Part] = {
    "id": _ID,
    "hypervisor_hostname": STRING,
    "state": {"enum": ["up", "down"]},
    "status": {"enum": ["enabled", "disabled"]},
}
_WITH_SERVERS: dict[str, Part] = {"servers": since(2, 53, listed(_SERVER))}

_SIZES = {
    "vcpus": NUMBER,
    "vcpus_used": NUMBER,
    "memory_mb": NUMBER,
    "memory_mb_used": NUMBER,
    "free_ram_mb": NUMBER,
    "local_gb": NUMBER,
    "local_gb_used": NUMBER,
    "free_disk_gb": NUMBER,
    "disk_available_least": NUMBER_OR_NULL,
    "running_vms": NUMBER,
    "current_workload": NUMBER,
}
"""Sizes, of which placement knows better since version 2.88."""


def _until_placement(schema: Any) -> tuple[Ranged, ...]:
    return Ranged(schema, until=_SIZES_UNTIL), own(schema)


_DETAILS: dict[str, Part] = {
    **_BRIEF,
    "host_ip": STRING,
    "hypervisor_type": STRING,
    "hypervisor_version": NUMBER,
    "cpu_info": _until_placement(changed((2, 28), before=STRING, after=OBJECT)),
    "service": every({"id": _SERVICE_ID, "host": STRING, "disabled_reason": STRING_OR_NULL}),
    **{size: _until_placement(schema) for size, schema in _SIZES.items()},
    "uptime": since(2, 88, STRING_OR_NULL),
    "armillary:availability_zone": STRING_OR_NULL,
    "armillary:cell_uuid": STRING_OR_NULL,
    "armillary:isolation": OBJECT,
    "armillary:traits": STRINGS,
    "armillary:inventories": OBJECT,
    "armillary:usages": OBJECT,
    "armillary:updated_at": TIME_OR_NULL,
}

_LIST_EXTRAS: dict[str, Part] = {
    "hypervisors_links": since(2, 33, LINKS),
    "armillary:down_cells": STRINGS,
}

INDEX_ANSWER = fields(
    {"hypervisors": listed(fields({**_BRIEF, **_WITH_SERVERS}, _BRIEF)), **_LIST_EXTRAS},
    ["hypervisors"],
)
DETAIL_ANSWER = fields(
    {"hypervisors": listed(fields({**_DETAILS, **_WITH_SERVERS}, _DETAILS)), **_LIST_EXTRAS},
    ["hypervisors"],
)
SEARCH_UNTIL = (2, 52)
"""The last version with paths to search; later ones have a query parameter."""
SIZES_UNTIL = _SIZES_UNTIL

SEARCH_ANSWER = every({"hypervisors": listed(every(_BRIEF))})
SERVERS_ANSWER = every(
    {"hypervisors": listed(fields({**_BRIEF, "servers": listed(_SERVER)}, _BRIEF))}
)
STATISTICS_ANSWER = every({"hypervisor_statistics": every({"count": NUMBER, **_SIZES})})
UPTIME_ANSWER = every({"hypervisor": every({**_BRIEF, "uptime": STRING})})

SHOW_ANSWER = every({"hypervisor": fields({**_DETAILS, **_WITH_SERVERS}, _DETAILS)})
