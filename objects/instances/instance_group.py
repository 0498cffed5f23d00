"""InstanceGroup: a server group with an affinity or anti-affinity policy."""

from objects import base, fields

AFFINITY = "affinity"
POLICIES = (AFFINITY, "anti-affinity", "soft-affinity", "soft-anti-affinity")


@base.ArmillaryObjectRegistry.register
class InstanceGroup(base.ArmillaryObject):
    """A server group. ``hosts`` are its members' hosts when it was read.

    ``zone_paths`` are paths to child zones, names joined by slashes, where members of an affinity
    group are or are being built: the next member has to go there. They are for the scheduler of the
    group's own zone.
    """

    VERSION = "1.0"

    fields = {
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "policy": fields.StringField(),
        "rules": fields.DictOfStringsField(default={}),
        "members": fields.ListOfStringsField(default=[]),
        "hosts": fields.ListOfStringsField(default=[]),
        "zone_paths": fields.ListOfStringsField(default=[]),
        "created_at": fields.DateTimeField(nullable=True),
    }

    uuid: str
    name: str
    project_id: str
    user_id: str
    policy: str
    rules: dict[str, str]
    members: list[str]
    hosts: list[str]
    zone_paths: list[str]

    @property
    def max_server_per_host(self) -> int:
        """Maximum number of members on one host under anti-affinity."""
        return int(self.rules.get("max_server_per_host", 1))
