"""InstanceGroup: a server group with an affinity or anti-affinity policy."""

from __future__ import annotations

from typing import Any

from oslo_utils import versionutils

from objects import base, fields, minimal_version

AFFINITY = "affinity"
POLICIES = (AFFINITY, "anti-affinity", "soft-affinity", "soft-anti-affinity")


@base.ArmillaryObjectRegistry.register
class InstanceGroup(minimal_version.MinimalVersion):
    """A server group. ``hosts`` are its members' hosts when it was read.

    ``zone_paths`` are paths to child zones, names joined by slashes, where members of an affinity
    group are or are being built: the next member has to go there. They are for the scheduler of the
    group's own zone.

    Version history: 1.0 initial; 1.1 adds zone_paths, and is sent as 1.0 if that is empty.
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
        """Leave out members' zones: an older receiver does not know zones."""
        super().obj_make_compatible(primitive, target_version)
        if versionutils.convert_version_to_tuple(target_version) < (1, 1):
            primitive.pop("zone_paths", None)

    @property
    def max_server_per_host(self) -> int:
        """Maximum number of members on one host under anti-affinity."""
        return int(self.rules.get("max_server_per_host", 1))
