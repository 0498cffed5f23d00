"""Instance: a workload, from its request until it is purged."""

from datetime import datetime

from objects import base, fields
from objects.flavor import Flavor
from objects.image_meta import ImageMeta
from objects.instance_fault import InstanceFault

OWNER = "owner"
ADMIN = "admin"
"""Values of ``locked_by``: who locked an instance."""


@base.ArmillaryObjectRegistry.register
class Instance(base.ArmillaryObject):
    """A process, a virtual machine or a simulated workload.

    ``attempt`` counts builds (1 is the first host); reports about earlier attempts are stale and
    ignored. ``exit_code`` is that of an ended process. ``locked``: only administrators may change
    the instance; ``locked_by`` is "owner" or "admin". ``operations_total`` numbers operations.
    ``zone`` is the path to the instance's zone ("eu/eu-1") relative to the zone that was asked;
    null if it is in that zone. It is never stored.
    """

    VERSION = "1.0"

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
        "host": fields.HostNameField(nullable=True),
        "node": fields.HostNameField(nullable=True),
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
