"""RequestSpec and its parts: the request as the scheduler sees it."""

from typing import Any

from objects import base, fields
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.instance_group import InstanceGroup

REBUILD = "rebuild"
INSTANCE, CLAIM = "INSTANCE", "CLAIM"
"""Types of consumers in placement: of an instance's resources, and of a claim's on a pool."""


@base.ArmillaryObjectRegistry.register
class Destination(base.ArmillaryObject):
    """The requested destination: a host, perhaps a node, perhaps within one cell.

    Filters still run. With ``allow_cross_cell_move`` the cell is the source of a move: other cells
    are allowed, but less preferred. ``node_uuid`` names the node by its UUID. With
    ``own_zone_only`` no other zone is asked.
    """

    host: str | None = fields.StringField(nullable=True)
    node: str | None = fields.StringField(nullable=True)
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    allow_cross_cell_move: bool = fields.BooleanField(default=False)
    node_uuid: str | None = fields.UUIDField(nullable=True)
    own_zone_only: bool = fields.BooleanField(default=False)

    @property
    def is_single_host(self) -> bool:
        """Whether it names a single host or node."""
        return bool(self.host or self.node or self.node_uuid)


@base.ArmillaryObjectRegistry.register
class SchedulerLimits(base.ArmillaryObject):
    """Limits that filters set for the chosen host, checked by the local claim.

    ``numa_topology`` holds the overcommit ratios for fitting into NUMA cells.
    """

    memory_mb: int | None = fields.IntegerField(nullable=True)
    disk_gb: int | None = fields.IntegerField(nullable=True)
    vcpu: int | None = fields.IntegerField(nullable=True)
    numa_topology: dict[str, float] | None = fields.JSONField(nullable=True)


@base.ArmillaryObjectRegistry.register
class SchedulerRetries(base.ArmillaryObject):
    """Number of build attempts, and where they were: pairs of a host and one of its nodes."""

    num_attempts: int = fields.IntegerField(default=0)
    hosts: list[list[str]] = fields.JSONField(default=[])


@base.ArmillaryObjectRegistry.register
class RequestLevelParams(base.ArmillaryObject):
    """Constraints that request filters add for the provider of a request; empty: none.

    ``member_of`` is a list of lists: the provider is in at least one aggregate of each inner list.
    """

    root_required: list[str] = fields.ListOfStringsField(default=[])
    root_forbidden: list[str] = fields.ListOfStringsField(default=[])
    member_of: list[list[str]] = fields.JSONField(default=[])
    forbidden_aggregates: list[str] = fields.ListOfStringsField(default=[])


@base.ArmillaryObjectRegistry.register
class RequestSpec(base.ArmillaryObject):
    """The request for one instance; specs of one request differ only in ``instance_uuid``.

    ``numa_topology`` is the wire form of ``objects.numa.InstanceTopology``, ``pci_requests`` a list
    of those of ``objects.pci.pci.PciRequest``. ``requested_networks`` is a list of dicts with
    ``network`` (UUID) and ``remote_managed``. ``check_type`` is "rebuild" to check whether an
    instance may stay on its host with another image. ``is_bfv``: its root disk is a volume, which
    uses no disk of the host. ``kind``: the request is for pools of that kind, see
    ``objects.claims.resource_kinds``; None: for hosts.
    """

    instance_uuid: str | None = fields.UUIDField(nullable=True)
    project_id: str = fields.StringField()
    user_id: str = fields.StringField()
    flavor: Flavor = fields.ObjectField("Flavor")
    image: ImageMeta | None = fields.ObjectField("ImageMeta", nullable=True)
    num_instances: int = fields.IntegerField(default=1)
    availability_zone: str | None = fields.StringField(nullable=True)
    scheduler_hints: dict[str, list[str]] = fields.JSONField(default={})
    instance_group: InstanceGroup | None = fields.ObjectField("InstanceGroup", nullable=True)
    ignore_hosts: list[str] = fields.ListOfStringsField(default=[])
    force_hosts: list[str] = fields.ListOfStringsField(default=[])
    force_nodes: list[str] = fields.ListOfStringsField(default=[])
    requested_destination: Destination | None = fields.ObjectField("Destination", nullable=True)
    limits: SchedulerLimits | None = fields.ObjectField("SchedulerLimits", nullable=True)
    retry: SchedulerRetries | None = fields.ObjectField("SchedulerRetries", nullable=True)
    request_level_params: RequestLevelParams | None = fields.ObjectField(
        "RequestLevelParams", nullable=True
    )
    numa_topology: dict[str, Any] | None = fields.JSONField(nullable=True)
    pci_requests: list[dict[str, Any]] = fields.JSONField(default=[])
    requested_networks: list[dict[str, Any]] = fields.JSONField(default=[])
    check_type: str | None = fields.StringField(nullable=True)
    is_bfv: bool = fields.BooleanField(default=False)
    kind: str | None = fields.StringField(nullable=True)

    @property
    def consumer_type(self) -> str:
        """The type of the consumer in placement that claims for this request."""
        return INSTANCE if self.kind is None else CLAIM

    @property
    def is_rebuild_check(self) -> bool:
        """Whether only filters that run on rebuild are evaluated, and nothing is placed."""
        return self.check_type == REBUILD

    @property
    def is_forced(self) -> bool:
        """Whether hosts or nodes are forced: filters are skipped, capacity and claim are not."""
        return bool(self.force_hosts or self.force_nodes)

    @property
    def disk_gb(self) -> int:
        """Size of the disks on the host in GiB, without swap."""
        return self.flavor.ephemeral_gb if self.is_bfv else self.flavor.disk_gb

    def hint(self, name: str) -> list[str]:
        """Return a scheduler hint as a list of strings, empty if absent."""
        value: Any = self.scheduler_hints.get(name, [])
        return [value] if isinstance(value, str) else list(value)
