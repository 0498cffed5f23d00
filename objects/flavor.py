"""Flavor: the size of an instance."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class Flavor(base.ArmillaryObject):
    """Requested resources: vCPUs, memory in MiB, disks in GiB, swap in MiB.

    ``rxtx_factor`` is kept for clients that set it; no driver limits network bandwidth.
    """

    flavorid: str = fields.StringField()
    name: str = fields.StringField()
    vcpus: int = fields.IntegerField()
    memory_mb: int = fields.IntegerField()
    root_gb: int = fields.IntegerField(default=0)
    ephemeral_gb: int = fields.IntegerField(default=0)
    swap_mb: int = fields.IntegerField(default=0)
    rxtx_factor: float = fields.FloatField(default=1.0)
    extra_specs: dict[str, str] = fields.DictOfStringsField(default={})
    is_public: bool = fields.BooleanField(default=True)
    disabled: bool = fields.BooleanField(default=False)
    description: str | None = fields.StringField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)

    @property
    def disk_gb(self) -> int:
        """Root and ephemeral disk in GiB; swap is excluded, as in the host's free disk."""
        return self.root_gb + self.ephemeral_gb
