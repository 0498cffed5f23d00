"""RequestSpec and its parts: what was asked for, as the scheduler sees it."""

from __future__ import annotations

from typing import Any

from objects import base, fields
from objects.flavor import Flavor
from objects.image_meta import ImageMeta
from objects.instance_group import InstanceGroup


@base.ArmillaryObjectRegistry.register
class Destination(base.ArmillaryObject):
    """Where the user wants it: a host, perhaps a node, perhaps within one cell.

    Filters still run.
    """

    VERSION = "1.0"

    fields = {
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "cell_uuid": fields.UUIDField(nullable=True),
    }

    host: str | None
    node: str | None
    cell_uuid: str | None


@base.ArmillaryObjectRegistry.register
class SchedulerLimits(base.ArmillaryObject):
    """Limits that filters wrote for the chosen host, held against the local claim."""

    VERSION = "1.0"

    fields = {
        "memory_mb": fields.IntegerField(nullable=True),
        "disk_gb": fields.IntegerField(nullable=True),
        "vcpu": fields.IntegerField(nullable=True),
    }

    memory_mb: int | None
    disk_gb: int | None
    vcpu: int | None


@base.ArmillaryObjectRegistry.register
class SchedulerRetries(base.ArmillaryObject):
    """How often a build was tried, and on which hosts."""

    VERSION = "1.0"

    fields = {
        "num_attempts": fields.IntegerField(default=0),
        "hosts": fields.ListOfStringsField(default=[]),
    }

    num_attempts: int
    hosts: list[str]


@base.ArmillaryObjectRegistry.register
class RequestLevelParams(base.ArmillaryObject):
    """What request filters ask of the provider that serves the request; empty means no demand.

    ``member_of`` is a list of lists: the provider is in at least one aggregate of each inner list.
    """

    VERSION = "1.0"

    fields = {
        "root_required": fields.ListOfStringsField(default=[]),
        "root_forbidden": fields.ListOfStringsField(default=[]),
        "member_of": fields.JSONField(default=[]),
        "forbidden_aggregates": fields.ListOfStringsField(default=[]),
    }

    root_required: list[str]
    root_forbidden: list[str]
    member_of: list[list[str]]
    forbidden_aggregates: list[str]


@base.ArmillaryObjectRegistry.register
class RequestSpec(base.ArmillaryObject):
    """One for each instance; those of one request are equal but for ``instance_uuid``."""

    VERSION = "1.0"

    fields = {
        "instance_uuid": fields.UUIDField(nullable=True),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "num_instances": fields.IntegerField(default=1),
        "availability_zone": fields.StringField(nullable=True),
        "scheduler_hints": fields.JSONField(default={}),
        "instance_group": fields.ObjectField("InstanceGroup", nullable=True),
        "ignore_hosts": fields.ListOfStringsField(default=[]),
        "force_hosts": fields.ListOfStringsField(default=[]),
        "force_nodes": fields.ListOfStringsField(default=[]),
        "requested_destination": fields.ObjectField("Destination", nullable=True),
        "limits": fields.ObjectField("SchedulerLimits", nullable=True),
        "retry": fields.ObjectField("SchedulerRetries", nullable=True),
        "request_level_params": fields.ObjectField("RequestLevelParams", nullable=True),
    }

    instance_uuid: str | None
    project_id: str
    user_id: str
    flavor: Flavor
    image: ImageMeta | None
    num_instances: int
    availability_zone: str | None
    scheduler_hints: dict[str, list[str]]
    instance_group: InstanceGroup | None
    ignore_hosts: list[str]
    force_hosts: list[str]
    force_nodes: list[str]
    requested_destination: Destination | None
    limits: SchedulerLimits | None
    retry: SchedulerRetries | None
    request_level_params: RequestLevelParams | None

    @property
    def is_forced(self) -> bool:
        """Whether hosts or nodes were forced: filters are skipped, capacity and claim are not."""
        return bool(self.force_hosts or self.force_nodes)

    def hint(self, name: str) -> list[str]:
        """Return a scheduler hint as a list of texts; absent is an empty list."""
        value: Any = self.scheduler_hints.get(name, [])
        return [value] if isinstance(value, str) else list(value)
