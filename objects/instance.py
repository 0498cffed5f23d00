"""Instance: a workload, from its request until it is purged."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from oslo_utils import versionutils

from objects import base, fields, minimal_version
from objects.flavor import Flavor
from objects.image_meta import ImageMeta
from objects.instance_fault import InstanceFault

_VM_STATES_BEFORE = {
    "resized": "active",
    "shelved": "stopped",
    "shelved_offloaded": "stopped",
    "soft-delete": "stopped",
}
_TASK_STATES_BEFORE = ("scheduling", "spawning", "deleting")

OWNER = "owner"
ADMIN = "admin"
"""Values of ``locked_by``: who locked an instance."""


@base.ArmillaryObjectRegistry.register
class Instance(minimal_version.MinimalVersion):
    """A process, a virtual machine or a simulated workload.

    ``attempt`` counts builds (1 is the first host); reports about earlier attempts are stale and
    ignored. ``exit_code`` is that of an ended process. ``locked``: only administrators may change
    the instance; ``locked_by`` is "owner" or "admin". ``operations_total`` numbers operations.
    ``zone`` is the path to the instance's zone ("eu/eu-1") relative to the zone that was asked;
    null if it is in that zone. It is never stored.

    Version history: 1.0 initial; 1.1 adds locked and locked_reason, and the states of operations;
    1.2 adds locked_by and operations_total; 1.3 adds zone, and is sent as 1.2 without one.
    """

    VERSION = "1.3"
    VERSION_WITHOUT = "1.2"
    NEWEST_FIELDS = ("zone",)

    fields = {
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "reservation_id": fields.StringField(),
        "request_id": fields.StringField(nullable=True),
        "launch_index": fields.IntegerField(default=0),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "metadata": fields.DictOfStringsField(default={}),
        "availability_zone": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "cell_uuid": fields.UUIDField(nullable=True),
        "vm_state": fields.VmStateField(default="building"),
        "task_state": fields.TaskStateField(nullable=True),
        "power_state": fields.StringField(nullable=True),
        "attempt": fields.IntegerField(default=0),
        "exit_code": fields.IntegerField(nullable=True),
        "group_uuid": fields.UUIDField(nullable=True),
        "fault": fields.ObjectField("InstanceFault", nullable=True),
        "locked": fields.BooleanField(default=False),
        "locked_reason": fields.StringField(nullable=True),
        "locked_by": fields.StringField(nullable=True),
        "operations_total": fields.IntegerField(default=0),
        "zone": fields.StringField(nullable=True),
        "created_at": fields.DateTimeField(nullable=True),
        "updated_at": fields.DateTimeField(nullable=True),
        "launched_at": fields.DateTimeField(nullable=True),
        "deleted_at": fields.DateTimeField(nullable=True),
    }

    uuid: str
    name: str
    project_id: str
    user_id: str
    reservation_id: str
    request_id: str | None
    launch_index: int
    flavor: Flavor
    image: ImageMeta | None
    metadata: dict[str, str]
    availability_zone: str | None
    host: str | None
    node: str | None
    cell_uuid: str | None
    vm_state: str
    task_state: str | None
    power_state: str | None
    attempt: int
    exit_code: int | None
    group_uuid: str | None
    fault: InstanceFault | None
    locked: bool
    locked_reason: str | None
    locked_by: str | None
    operations_total: int
    zone: str | None
    created_at: datetime | None
    updated_at: datetime | None
    launched_at: datetime | None
    deleted_at: datetime | None

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Leave out newer fields; map newer states to the nearest ones of 1.0."""
        super().obj_make_compatible(primitive, target_version)
        version = versionutils.convert_version_to_tuple(target_version)
        if version >= (1, 3):
            return
        primitive.pop("zone", None)
        if version >= (1, 2):
            return
        primitive.pop("locked_by", None)
        primitive.pop("operations_total", None)
        if version >= (1, 1):
            return
        primitive.pop("locked", None)
        primitive.pop("locked_reason", None)
        vm_state, task_state = primitive.get("vm_state"), primitive.get("task_state")
        if vm_state is not None:
            primitive["vm_state"] = _VM_STATES_BEFORE.get(vm_state, vm_state)
        if task_state not in _TASK_STATES_BEFORE:
            primitive["task_state"] = None
