"""InstanceGroup: a server group with an affinity or anti-affinity policy."""

from datetime import datetime

from objects import base, fields

AFFINITY = "affinity"
ANTI_AFFINITY = "anti-affinity"
POLICIES = (AFFINITY, ANTI_AFFINITY, "soft-affinity", "soft-anti-affinity")


@base.ArmillaryObjectRegistry.register
class InstanceGroup(base.ArmillaryObject):
    """A server group. ``hosts`` are its members' hosts when it was read.

    ``zone_paths`` are paths to child zones, names joined by slashes, where members of an affinity
    group are or are being built: the next member has to go there. They are for the scheduler of the
    group's own zone.
    """

    uuid: str = fields.UUIDField()
    name: str = fields.StringField()
    project_id: str = fields.StringField()
    user_id: str = fields.StringField()
    policy: str = fields.StringField()
    rules: dict[str, str] = fields.DictOfStringsField(default={})
    members: list[str] = fields.ListOfStringsField(default=[])
    hosts: list[str] = fields.ListOfStringsField(default=[])
    zone_paths: list[str] = fields.ListOfStringsField(default=[])
    created_at: datetime | None = fields.DateTimeField(nullable=True)

    @property
    def max_server_per_host(self) -> int:
        """Maximum number of members on one host under anti-affinity."""
        return int(self.rules.get("max_server_per_host", 1))
