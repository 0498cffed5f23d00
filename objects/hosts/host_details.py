"""Details of one host: its service, nodes, providers, servers and migrations."""

from dataclasses import dataclass, field

from objects.hosts.compute_node import ComputeNode
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.migration import Migration

SERVERS_MAX = 1000
MIGRATIONS_MAX = 50
PROVIDERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class HostRecords:
    """A cell's records of a host: its compute service and its nodes."""

    service: Service
    nodes: list[ComputeNode]


@dataclass(frozen=True, slots=True)
class ProviderDetails:
    """A resource provider.

    ``inventories``: class -> total, reserved, allocation_ratio, max_unit, capacity, used.
    """

    uuid: str
    name: str
    parent_uuid: str | None
    inventories: dict[str, dict[str, float]]
    traits: list[str]
    aggregates: list[str]


@dataclass(frozen=True, slots=True)
class HostDetails:
    """A host; ``providers`` are the trees of its nodes, parents first.

    ``servers`` has at most ``SERVERS_MAX``, ``migrations`` the newest ``MIGRATIONS_MAX`` from and
    to the host. ``aggregates`` maps the UUIDs of the deployment's aggregates with this host to
    their names.
    """

    records: HostRecords
    cell: str
    providers: list[ProviderDetails]
    servers: list[Instance]
    migrations: list[Migration]
    aggregates: dict[str, str] = field(default_factory=dict)
