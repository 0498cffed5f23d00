"""Diagnostics of servers."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER,
    NUMBER_OR_NULL,
    STRING,
    STRING_OR_NULL,
    changed,
    every,
    listed,
)

_DISK = dict.fromkeys(
    ("read_bytes", "read_requests", "write_bytes", "write_requests", "errors_count"), NUMBER_OR_NULL
)
_CPU = dict.fromkeys(("id", "time", "utilisation"), NUMBER_OR_NULL)

SHOW_ANSWER = changed(
    (2, 48),
    before={"type": "object", "additionalProperties": NUMBER_OR_NULL},
    after=every(
        {
            "state": STRING,
            "driver": STRING,
            "hypervisor": STRING_OR_NULL,
            "hypervisor_os": STRING_OR_NULL,
            "uptime": NUMBER_OR_NULL,
            "config_drive": BOOLEAN,
            "num_cpus": NUMBER,
            "num_nics": NUMBER,
            "num_disks": NUMBER,
            "memory_details": every({"maximum": NUMBER_OR_NULL, "used": NUMBER_OR_NULL}),
            "cpu_details": listed(every(_CPU)),
            "nic_details": {"type": "array", "maxItems": 0},
            "disk_details": listed(every(_DISK)),
        }
    ),
)
