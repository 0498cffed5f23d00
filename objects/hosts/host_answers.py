"""Answers to queries about services, compute nodes and availability zones."""

from dataclasses import dataclass, field
from datetime import datetime

from objects.hosts.compute_node import ComputeNode
from objects.hosts.service import Service
from objects.instance import Instance

ProviderUsages = dict[str, dict[str, float]]
"""Resource class -> total, reserved, allocation_ratio, used, capacity."""


@dataclass(frozen=True, slots=True)
class ServicePage:
    """Services, sorted by host and binary, and names of the cells that did not answer.

    ``cell_names`` are by UUID: those of services on the top broker, in cell0, have none.
    """

    services: list[Service]
    down_cells: list[str]
    cell_names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceOnHost:
    """An instance by UUID and name, and where it is; ``node`` is None before its claim there."""

    uuid: str
    name: str
    host: str
    node: str | None


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A host that an agent asked for and was refused, and the agent that has it."""

    host: str
    agent: str
    present_agent: str | None
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class ZoneUse:
    """Instances with the same host and availability zone: how many, and one of them."""

    host: str | None
    availability_zone: str | None
    count: int
    instance_uuid: str


@dataclass(frozen=True, slots=True)
class ServiceChanges:
    """Changes of a service; None leaves a field as it is.

    ``disabled_reason`` is set together with ``disabled``.
    """

    disabled: bool | None = None
    disabled_reason: str | None = None
    forced_down: bool | None = None


@dataclass(frozen=True, slots=True)
class ComputeNodePage:
    """Compute nodes, sorted by host and node.

    ``services`` are by host, ``usages`` by node UUID; ``down_cells`` names the cells that did not
    answer.
    """

    nodes: list[ComputeNode]
    services: dict[str, Service]
    usages: dict[str, ProviderUsages]
    down_cells: list[str]


@dataclass(frozen=True, slots=True)
class ComputeNodeDetails:
    """One compute node with its instances."""

    node: ComputeNode
    service: Service | None
    usages: ProviderUsages
    instances: list[Instance]


@dataclass(frozen=True, slots=True)
class HostAvailability:
    """Whether a host's service is up and disabled, and when it was last seen up."""

    up: bool
    disabled: bool
    last_seen_up: datetime | None = None


@dataclass(frozen=True, slots=True)
class AvailabilityZone:
    """An availability zone and its hosts; available if one of them is up and enabled."""

    name: str
    hosts: dict[str, HostAvailability]

    @property
    def available(self) -> bool:
        return any(host.up and not host.disabled for host in self.hosts.values())


@dataclass(frozen=True, slots=True)
class NodeReportResult:
    """What became of an agent's report of a compute node.

    ``error`` says why it was refused; ``allocation_ratios`` (class -> ratio) are placement's.
    """

    uuid: str
    error: str | None = None
    allocation_ratios: dict[str, float] = field(default_factory=dict)
