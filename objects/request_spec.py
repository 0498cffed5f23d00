"""RequestSpec and its parts: the request as the scheduler sees it."""

from __future__ import annotations

from typing import Any

from oslo_utils import versionutils

from armillary import exception
from objects import base, fields, minimal_version
from objects.flavor import Flavor
from objects.image_meta import ImageMeta
from objects.instance_group import InstanceGroup

REBUILD = "rebuild"


@base.ArmillaryObjectRegistry.register
class Destination(minimal_version.MinimalVersion):
    """The requested destination: a host, perhaps a node, perhaps within one cell.

    Filters still run. With ``allow_cross_cell_move`` the cell is the source of a move: other cells
    are allowed, but less preferred. ``node_uuid`` names the node by its UUID. With
    ``own_zone_only`` no other zone is asked.

    Version history: 1.0 initial; 1.1 adds allow_cross_cell_move; 1.2 adds node_uuid and
    own_zone_only, and is sent as 1.1 if they are not set.
    """

    VERSION = "1.2"
    NEWEST_FIELDS = ("node_uuid", "own_zone_only")
    VERSION_WITHOUT = "1.1"

    fields = {
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "cell_uuid": fields.UUIDField(nullable=True),
        "allow_cross_cell_move": fields.BooleanField(default=False),
        "node_uuid": fields.UUIDField(nullable=True),
        "own_zone_only": fields.BooleanField(default=False),
    }

    host: str | None
    node: str | None
    cell_uuid: str | None
    allow_cross_cell_move: bool
    node_uuid: str | None
    own_zone_only: bool

    @property
    def is_single_host(self) -> bool:
        """Whether it names a single host or node."""
        return bool(self.host or self.node or self.node_uuid)

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Restrict a move to its cell, where an older receiver looks for a host."""
        super().obj_make_compatible(primitive, target_version)
        if _is_before(target_version, (1, 2)):
            for name in self.NEWEST_FIELDS:
                primitive.pop(name, None)
        if _is_before(target_version, (1, 1)):
            primitive.pop("allow_cross_cell_move", None)


@base.ArmillaryObjectRegistry.register
class SchedulerLimits(base.ArmillaryObject):
    """Limits that filters set for the chosen host, checked by the local claim.

    ``numa_topology`` holds the overcommit ratios for fitting into NUMA cells.

    Version history: 1.0 initial; 1.1 adds numa_topology.
    """

    VERSION = "1.1"

    fields = {
        "memory_mb": fields.IntegerField(nullable=True),
        "disk_gb": fields.IntegerField(nullable=True),
        "vcpu": fields.IntegerField(nullable=True),
        "numa_topology": fields.JSONField(nullable=True),
    }

    memory_mb: int | None
    disk_gb: int | None
    vcpu: int | None
    numa_topology: dict[str, Any] | None

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Leave out the limits of NUMA cells, which an older receiver does not use."""
        super().obj_make_compatible(primitive, target_version)
        if _is_before(target_version, (1, 1)):
            primitive.pop("numa_topology", None)


@base.ArmillaryObjectRegistry.register
class SchedulerRetries(base.ArmillaryObject):
    """Number of build attempts, and their hosts."""

    VERSION = "1.0"

    fields = {
        "num_attempts": fields.IntegerField(default=0),
        "hosts": fields.ListOfStringsField(default=[]),
    }

    num_attempts: int
    hosts: list[str]


@base.ArmillaryObjectRegistry.register
class RequestLevelParams(base.ArmillaryObject):
    """Constraints that request filters add for the provider of a request; empty: none.

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
    """The request for one instance; specs of one request differ only in ``instance_uuid``.

    ``numa_topology`` is the wire form of ``objects.numa.InstanceTopology``, ``pci_requests`` a list
    of those of ``objects.pci.pci.PciRequest``. ``requested_networks`` is a list of dicts with
    ``network`` (UUID) and ``remote_managed``. ``check_type`` is "rebuild" to check whether an
    instance may stay on its host with another image. ``is_bfv``: its root disk is a volume, which
    uses no disk of the host.

    Version history: 1.0 initial; 1.1 adds numa_topology, pci_requests, requested_networks,
    check_type and is_bfv.
    """

    VERSION = "1.1"

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
        "numa_topology": fields.JSONField(nullable=True),
        "pci_requests": fields.JSONField(default=[]),
        "requested_networks": fields.JSONField(default=[]),
        "check_type": fields.StringField(nullable=True),
        "is_bfv": fields.BooleanField(default=False),
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
    numa_topology: dict[str, Any] | None
    pci_requests: list[dict[str, Any]]
    requested_networks: list[dict[str, Any]]
    check_type: str | None
    is_bfv: bool

    obj_relationships = {
        "flavor": [("1.0", "1.0")],
        "image": [("1.0", "1.0")],
        "instance_group": [("1.0", "1.0")],
        "requested_destination": [("1.0", "1.0"), ("1.1", "1.1")],
        "limits": [("1.0", "1.0"), ("1.1", "1.1")],
        "retry": [("1.0", "1.0")],
        "request_level_params": [("1.0", "1.0")],
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Leave out what a receiver of 1.0 does not know.

        Raises ``Invalid`` if the receiver would act differently without it: it would not pin CPUs,
        not pass devices through, or place an instance that is only being checked.
        """
        super().obj_make_compatible(primitive, target_version)
        if not _is_before(target_version, (1, 1)):
            return
        lost = [name for name in ("numa_topology", "pci_requests", "check_type")
                if primitive.pop(name, None)]  # fmt: skip
        primitive.pop("is_bfv", None)  # it then requests the root disk, too: never too little
        networks = primitive.pop("requested_networks", None) or []
        if any(network.get("remote_managed") for network in networks):
            lost.append("requested_networks")
        if lost:
            raise exception.Invalid(
                reason=f"a request with {' and '.join(lost)} cannot be sent to a service that "
                f"only knows RequestSpec {target_version}; upgrade the service, and its "
                "[upgrade_levels]"
            )

    @property
    def is_rebuild_check(self) -> bool:
        """Whether only filters that run on rebuild are evaluated, and nothing is placed."""
        return self.check_type == REBUILD

    @property
    def is_forced(self) -> bool:
        """Whether hosts or nodes are forced: filters are skipped, capacity and claim are not."""
        return bool(self.force_hosts or self.force_nodes)

    def hint(self, name: str) -> list[str]:
        """Return a scheduler hint as a list of strings, empty if absent."""
        value: Any = self.scheduler_hints.get(name, [])
        return [value] if isinstance(value, str) else list(value)


def _is_before(version: str, since: tuple[int, int]) -> bool:
    return bool(versionutils.convert_version_to_tuple(version) < since)
