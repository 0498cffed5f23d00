"""Query parameters of lists of servers: filters, order and page."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    BOOLEAN_OR_EMPTY,
    HOST,
    INTEGER_MAX,
    PAGE,
    SORT_DIRECTION,
    UUID,
    Part,
    fields,
    integer,
    name,
    once,
    one_or_more,
    since,
    text,
)

SORT_KEYS = {
    "access_ip_v4": "access_ip_v4",
    "access_ip_v6": "access_ip_v6",
    "auto_disk_config": "disk_config",
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "created_at": "created_at",
    "display_description": "description",
    "display_name": "name",
    "host": "host",
    "hostname": "hostname",
    "image_ref": "image",
    "instance_type_id": "flavor",
    "key_name": "key_name",
    "launch_index": "launch_index",
    "launched_at": "launched_at",
    "locked_by": "locked_by",
    "node": "node",
    "power_state": "power_state",
    "project_id": "project_id",
    "task_state": "task_state",
    "terminated_at": "terminated_at",
    "updated_at": "updated_at",
    "user_id": "user_id",
    "uuid": "uuid",
    "vm_state": "vm_state",
}
"""Sort key -> key of ``objects.instances.server_order``."""
LOCKED_SINCE = (2, 73)
CONSTANT_SORT_KEYS = ("kernel_id", "progress", "ramdisk_id", "root_device_name")
"""Sort keys by which all servers are equal here."""
IGNORED_SORT_KEYS = (
    "architecture", "cell_name", "cleaned", "default_ephemeral_device", "default_swap_device",
    "deleted", "deleted_at", "disable_terminate", "ephemeral_gb", "ephemeral_key_uuid", "id",
    "key_data", "launched_on", "locked", "memory_mb", "os_type", "reservation_id", "root_gb",
    "shutdown_terminate", "user_data", "vcpus", "vm_mode",
)  # fmt: skip
"""Sort keys that the Compute API takes and ignores; ``locked`` until it is a sort key."""

_SORT_KEY = {"enum": [*SORT_KEYS, *CONSTANT_SORT_KEYS, *IGNORED_SORT_KEYS]}
_TAGS = since(2, 26, text(maximum=50 * 61))
"""Comma-separated tags."""

_FILTERS: dict[str, Part] = {
    "name": text(minimum=1),
    "status": one_or_more(text()),
    "host": HOST,
    "reservation_id": name(),
    "all_tenants": BOOLEAN_OR_EMPTY,
    "tenant_id": name(),
    "project_id": name(),
    "uuid": text(),
    "user_id": text(),
    "flavor": text(),
    "image": text(),
    "availability_zone": text(),
    "vm_state": text(),
    "changes-since": text(),
    "changes-before": since(2, 66, once(text())),
    "deleted": BOOLEAN,
    "access_ip_v4": text(),
    "access_ip_v6": text(),
    "auto_disk_config": BOOLEAN,
    "config_drive": BOOLEAN,
    "created_at": text(),
    "description": text(),
    "hostname": text(),
    "ip": text(),
    "ip6": text(),
    "kernel_id": text(),
    "key_name": text(),
    "launch_index": integer(),
    "launched_at": text(),
    "locked": since(*LOCKED_SINCE, once(BOOLEAN)),
    "locked_by": text(),
    "node": HOST,
    "power_state": integer(0, INTEGER_MAX),
    "progress": integer(),
    "ramdisk_id": text(),
    "root_device_name": text(),
    "soft_deleted": BOOLEAN,
    "task_state": text(),
    "terminated_at": text(),
    "tags": _TAGS,
    "tags-any": _TAGS,
    "not-tags": _TAGS,
    "not-tags-any": _TAGS,
}

INDEX_QUERY = fields(
    {
        **PAGE,
        "marker": UUID,
        **_FILTERS,
        "sort_key": one_or_more(_SORT_KEY),
        "sort_dir": one_or_more(SORT_DIRECTION),
    }
)
