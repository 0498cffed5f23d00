"""InstanceGroup: a server group, whose members are kept together, apart, or spread."""

from datetime import datetime

from objects import base, fields

AFFINITY = "affinity"
ANTI_AFFINITY = "anti-affinity"
SPREAD = "spread"
SPREAD_POLICIES = (SPREAD, "soft-spread")
POLICIES = (*(AFFINITY, ANTI_AFFINITY, "soft-affinity", "soft-anti-affinity"), *SPREAD_POLICIES)


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

    @property
    def topology_key(self) -> str:
        """Aggregate metadata key whose values are the domains that members are spread over."""
        return self.rules.get("topology_key", "")

    @property
    def max_skew(self) -> int:
        """Maximum difference between the numbers of members in two domains."""
        return int(self.rules.get("max_skew", 1))
