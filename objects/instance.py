"""Instance: a workload, from its request until it is purged."""

from datetime import datetime

from objects import base, fields
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_settings import ServerSettings

OWNER = "owner"
ADMIN = "admin"
"""Values of ``locked_by``: who locked an instance."""
UNKNOWN = "unknown"
"""The ``vm_state`` of an instance whose cell or zone does not answer; it is never stored."""


@base.ArmillaryObjectRegistry.register
class Instance(base.ArmillaryObject):
    """A process, a virtual machine or a simulated workload.

    ``attempt`` counts builds (1 is the first host); reports about earlier attempts are stale and
    ignored. ``exit_code`` is that of an ended process. ``locked``: only administrators may change
    the instance; ``locked_by`` is "owner" or "admin". ``operations_total`` numbers operations.
    ``addresses`` are those of a guest with a network of its own, as its host last found them.
    ``host_ip`` is the address of its host; like ``zone`` it is never stored.
    ``zone`` is the path to the instance's zone ("eu/eu-1") relative to the zone that was asked;
    null if it is in that zone. ``settings`` None means that none was given.
    ``pinned_availability_zone`` and ``scheduler_hints`` are those of its request spec; they are set
    for display only. An ``UNKNOWN`` instance has only the fields that its mapping and request spec
    tell.
    """

    uuid: str = fields.UUIDField()
    name: str = fields.StringField()
    project_id: str = fields.StringField()
    user_id: str = fields.StringField()
    reservation_id: str = fields.StringField()
    request_id: str | None = fields.StringField(nullable=True)
    launch_index: int = fields.IntegerField(default=0)
    flavor: Flavor = fields.ObjectField("Flavor")
    image: ImageMeta | None = fields.ObjectField("ImageMeta", nullable=True)
    metadata: dict[str, str] = fields.DictOfStringsField(default={})
    settings: ServerSettings | None = fields.ObjectField("ServerSettings", nullable=True)
    availability_zone: str | None = fields.StringField(nullable=True)
    host: str | None = fields.HostNameField(nullable=True)
    node: str | None = fields.HostNameField(nullable=True)
    addresses: list[str] = fields.ListOfStringsField(default=[])
    host_ip: str | None = fields.StringField(nullable=True)
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    vm_state: str = fields.VmStateField(default="building")
    task_state: str | None = fields.TaskStateField(nullable=True)
    power_state: str | None = fields.StringField(nullable=True)
    attempt: int = fields.IntegerField(default=0)
    exit_code: int | None = fields.IntegerField(nullable=True)
    group_uuid: str | None = fields.UUIDField(nullable=True)
    fault: InstanceFault | None = fields.ObjectField("InstanceFault", nullable=True)
    locked: bool = fields.BooleanField(default=False)
    locked_reason: str | None = fields.StringField(nullable=True)
    locked_by: str | None = fields.StringField(nullable=True)
    operations_total: int = fields.IntegerField(default=0)
    zone: str | None = fields.StringField(nullable=True)
    pinned_availability_zone: str | None = fields.StringField(nullable=True)
    scheduler_hints: dict[str, list[str]] = fields.JSONField(default={})
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)
    launched_at: datetime | None = fields.DateTimeField(nullable=True)
    deleted_at: datetime | None = fields.DateTimeField(nullable=True)

    @property
    def boots_from_volume(self) -> bool:
        """Whether the root disk is a volume, which uses no disk of the host."""
        return self.settings is not None and self.settings.root_volume is not None

    @property
    def disk_gb(self) -> int:
        """GiB that its disks use on its host."""
        flavor = self.flavor
        return flavor.ephemeral_gb if self.boots_from_volume else flavor.disk_gb
