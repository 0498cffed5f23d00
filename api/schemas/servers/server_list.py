"""Query parameters of lists of servers: filters, order and page."""

from api.schemas import base

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
_TAGS = base.since(2, 26, base.text(maximum=50 * 61))
"""Comma-separated tags."""

_FILTERS: dict[str, base.Part] = {
    "name": base.text(minimum=1),
    "status": base.one_or_more(base.text()),
    "host": base.HOST,
    "reservation_id": base.name(),
    "all_tenants": base.BOOLEAN_OR_EMPTY,
    "tenant_id": base.name(),
    "project_id": base.name(),
    "uuid": base.text(),
    "user_id": base.text(),
    "flavor": base.text(),
    "image": base.text(),
    "availability_zone": base.text(),
    "vm_state": base.text(),
    "changes-since": base.text(),
    "changes-before": base.since(2, 66, base.once(base.text())),
    "deleted": base.BOOLEAN,
    "access_ip_v4": base.text(),
    "access_ip_v6": base.text(),
    "auto_disk_config": base.BOOLEAN,
    "config_drive": base.BOOLEAN,
    "created_at": base.text(),
    "description": base.text(),
    "hostname": base.text(),
    "ip": base.text(),
    "ip6": base.text(),
    "kernel_id": base.text(),
    "key_name": base.text(),
    "launch_index": base.integer(),
    "launched_at": base.text(),
    "locked": base.since(*LOCKED_SINCE, base.once(base.BOOLEAN)),
    "locked_by": base.text(),
    "node": base.HOST,
    "power_state": base.integer(0, base.INTEGER_MAX),
    "progress": base.integer(),
    "ramdisk_id": base.text(),
    "root_device_name": base.text(),
    "soft_deleted": base.BOOLEAN,
    "task_state": base.text(),
    "terminated_at": base.text(),
    "tags": _TAGS,
    "tags-any": _TAGS,
    "not-tags": _TAGS,
    "not-tags-any": _TAGS,
}

INDEX_QUERY = base.fields(
    {
        **base.PAGE,
        "marker": base.UUID,
        **_FILTERS,
        "sort_key": base.one_or_more(_SORT_KEY),
        "sort_dir": base.one_or_more(base.SORT_DIRECTION),
    }
)
