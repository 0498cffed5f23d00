"""Flavor: the size of an instance."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class Flavor(base.ArmillaryObject):
    """Requested resources: vCPUs, memory in MiB, disks in GiB, swap in MiB."""

    VERSION = "1.0"

    fields = {
        "flavorid": fields.StringField(),
        "name": fields.StringField(),
        "vcpus": fields.IntegerField(),
        "memory_mb": fields.IntegerField(),
        "root_gb": fields.IntegerField(default=0),
        "ephemeral_gb": fields.IntegerField(default=0),
        "swap_mb": fields.IntegerField(default=0),
        "extra_specs": fields.DictOfStringsField(default={}),
        "is_public": fields.BooleanField(default=True),
        "disabled": fields.BooleanField(default=False),
        "description": fields.StringField(nullable=True),
        "created_at": fields.DateTimeField(nullable=True),
        "updated_at": fields.DateTimeField(nullable=True),
    }

    flavorid: str
    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    swap_mb: int
    extra_specs: dict[str, str]
    is_public: bool
    disabled: bool
    description: str | None
    created_at: datetime | None
    updated_at: datetime | None

    @property
    def disk_gb(self) -> int:
        """Root and ephemeral disk in GiB; swap is excluded, as in the host's free disk."""
        return self.root_gb + self.ephemeral_gb
