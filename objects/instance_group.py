"""InstanceGroup: instances that want to be together or apart (a server group)."""

from __future__ import annotations

from objects import base, fields

POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")


@base.ArmillaryObjectRegistry.register
class InstanceGroup(base.ArmillaryObject):
    """A server group. ``hosts`` are those of its members when it was read."""

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

    @property
    def max_server_per_host(self) -> int:
        """How many members one host may run under anti-affinity."""
        return int(self.rules.get("max_server_per_host", 1))
