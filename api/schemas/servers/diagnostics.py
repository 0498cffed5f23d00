"""Diagnostics of servers."""

from api.schemas import base

_DISK = dict.fromkeys(
    ("read_bytes", "read_requests", "write_bytes", "write_requests", "errors_count"),
    base.NUMBER_OR_NULL,
)
_CPU = dict.fromkeys(("id", "time", "utilisation"), base.NUMBER_OR_NULL)

SHOW_ANSWER = base.changed(
    (2, 48),
    before={"type": "object", "additionalProperties": base.NUMBER_OR_NULL},
    after=base.every(
        {
            "state": base.STRING,
            "driver": base.STRING,
            "hypervisor": base.STRING_OR_NULL,
            "hypervisor_os": base.STRING_OR_NULL,
            "uptime": base.NUMBER_OR_NULL,
            "config_drive": base.BOOLEAN,
            "num_cpus": base.NUMBER,
            "num_nics": base.NUMBER,
            "num_disks": base.NUMBER,
            "memory_details": base.every(
                {"maximum": base.NUMBER_OR_NULL, "used": base.NUMBER_OR_NULL}
            ),
            "cpu_details": base.listed(base.every(_CPU)),
            "nic_details": {"type": "array", "maxItems": 0},
            "disk_details": base.listed(base.every(_DISK)),
        }
    ),
)
