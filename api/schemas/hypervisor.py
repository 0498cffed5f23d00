"""Hypervisors: resources and usage of hosts."""

from __future__ import annotations

from api.schemas.base import (
    ANY,
    LINKS,
    NUMBER,
    NUMBER_OR_NULL,
    OBJECT,
    PAGE,
    STRING,
    STRING_OR_NULL,
    STRINGS,
    TIME_OR_NULL,
    every,
    fields,
    listed,
    name,
)

INDEX_QUERY = fields({**PAGE, "hypervisor_hostname_pattern": name()})

_BRIEF = {
    "id": STRING,
    "hypervisor_hostname": STRING,
    "state": {"enum": ["up", "down"]},
    "status": {"enum": ["enabled", "disabled"]},
}

_DETAILS = {
    **_BRIEF,
    "host_ip": STRING_OR_NULL,
    "hypervisor_type": STRING,
    "hypervisor_version": NUMBER,
    "cpu_info": ANY,
    "service": every({"id": STRING_OR_NULL, "host": STRING, "disabled_reason": STRING_OR_NULL}),
    "vcpus": NUMBER,
    "vcpus_used": NUMBER,
    "memory_mb": NUMBER,
    "memory_mb_used": NUMBER,
    "free_ram_mb": NUMBER,
    "local_gb": NUMBER,
    "local_gb_used": NUMBER,
    "free_disk_gb": NUMBER,
    "disk_available_least": NUMBER_OR_NULL,
    "running_vms": NUMBER_OR_NULL,
    "current_workload": NUMBER,
    "armillary:availability_zone": STRING_OR_NULL,
    "armillary:cell_uuid": STRING_OR_NULL,
    "armillary:traits": STRINGS,
    "armillary:inventories": OBJECT,
    "armillary:usages": OBJECT,
    "armillary:updated_at": TIME_OR_NULL,
}

_SERVERS = listed(every({"uuid": STRING, "name": STRING}))
_LIST_EXTRAS = {"hypervisors_links": LINKS, "armillary:down_cells": STRINGS}

INDEX_ANSWER = fields({"hypervisors": listed(every(_BRIEF)), **_LIST_EXTRAS}, ["hypervisors"])
DETAIL_ANSWER = fields({"hypervisors": listed(every(_DETAILS)), **_LIST_EXTRAS}, ["hypervisors"])
SHOW_ANSWER = every({"hypervisor": every({**_DETAILS, "servers": _SERVERS})})
