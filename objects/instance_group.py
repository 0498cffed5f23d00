"""InstanceGroup: instances that want to be together or apart (a server group)."""

from __future__ import annotations

from typing import Any

from oslo_utils import versionutils

from objects import base, fields, version_by_need

AFFINITY = "affinity"
POLICIES = (AFFINITY, "anti-affinity", "soft-affinity", "soft-anti-affinity")


@base.ArmillaryObjectRegistry.register
class InstanceGroup(version_by_need.VersionByNeed):
    """A server group. ``hosts`` are those of its members when it was read.

    ``zone_paths`` are the ways to zones below, names joined by slashes, where members of an
    affinity group live or are being built: its next one has to go there. For the scheduler of the
    zone where the group is known.

    Version history: 1.0 initial; 1.1 adds zone_paths, and travels as 1.0 without these.
    """

    VERSION = "1.1"
    NEWEST_FIELDS = ("zone_paths",)

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

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Leave out where members are in other zones: an older receiver knows of no zones."""
        super().obj_make_compatible(primitive, target_version)
        if versionutils.convert_version_to_tuple(target_version) < (1, 1):
            primitive.pop("zone_paths", None)

    @property
    def max_server_per_host(self) -> int:
        """How many members one host may run under anti-affinity."""
        return int(self.rules.get("max_server_per_host", 1))
