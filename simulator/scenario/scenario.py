"""Scenario data: a validated fleet and load."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from simulator.load.durations import AT_ONCE, ENDLESS, Duration

HOSTS_MAX = 100_000
REQUESTS_MAX = 1_000_000
INSTANCES_MAX = 2_000_000
COUNT_MAX = 10_000
CELL = "cell1"


@dataclass(frozen=True, slots=True)
class Amount:
    """Amount of one resource class on each host of a shape."""

    total: int
    reserved: int = 0
    ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Amount that can be allocated."""
        return math.floor((self.total - self.reserved) * self.ratio)


@dataclass(frozen=True, slots=True)
class HostShape:
    """Identical hosts."""

    names: Sequence[str]
    amounts: Mapping[str, Amount]
    cell: str = CELL
    zone: str | None = None
    aggregates: Sequence[str] = ()
    traits: Sequence[str] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Host attributes that differ from the defaults."""
    numa_cells: int = 0
    """Number of NUMA cells that CPUs and memory are split into; 0 reports none."""
    in_zones: Sequence[str] = ("*",)
    """Globs of the zones with such hosts, if the scenario has zones."""


@dataclass(frozen=True, slots=True)
class GroupRules:
    """Policy and rules of a server group."""

    policy: str
    max_server_per_host: int | None = None

    @property
    def rules(self) -> dict[str, str]:
        """The rules as a server group has them."""
        if self.max_server_per_host is None:
            return {}
        return {"max_server_per_host": str(self.max_server_per_host)}


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Arrival process: ``poisson`` or ``fixed`` with a rate, ``bursts`` with a size."""

    kind: str
    per_second: float = 0.0
    every_seconds: float = 0.0
    requests: int = 0

    @property
    def mean_per_second(self) -> float:
        return self.requests / self.every_seconds if self.kind == "bursts" else self.per_second


@dataclass(frozen=True, slots=True)
class Stream:
    """One kind of request; values with alternatives are drawn by weight."""

    name: str
    arrivals: Arrivals
    flavors: Mapping[str, float]
    images: Mapping[str, float] = field(default_factory=dict)
    zones: Mapping[str, float] = field(default_factory=dict)
    count_min: int = 1
    count_max: int = 1
    lifetime: Duration = ENDLESS
    hints: Mapping[str, list[str]] = field(default_factory=dict)
    group: GroupRules | None = None
    group_name: str | None = None
    """Server group shared by all requests; None creates new groups."""
    group_requests: int = 1
    """Number of consecutive requests in one new server group."""
    project: str = "simulated"
    start_seconds: float = 0.0
    end_seconds: float = float("inf")


@dataclass(frozen=True, slots=True)
class Outage:
    """Hosts that go down at a known time."""

    at_seconds: float
    hosts: str
    """A glob."""
    repair: Duration


@dataclass(frozen=True, slots=True)
class HostFailures:
    """Failure and recovery of hosts."""

    mean_seconds_between: float | None = None
    """Per host; None disables random failures."""
    repair: Duration = field(default=Duration("fixed", 3600.0))
    notice_seconds: float = 60.0
    """Seconds until a failed host is detected."""
    keeps_instances: bool = False
    outages: Sequence[Outage] = ()


@dataclass(frozen=True, slots=True)
class Builds:
    """Build durations and failures."""

    seconds: Duration = AT_ONCE
    failure_rate: float = 0.0
    failing_hosts: Sequence[str] = ()
    """Globs of hosts on which every build fails."""


@dataclass(frozen=True, slots=True)
class ZoneTree:
    """Number of children of each zone per level, and which zones have hosts."""

    widths: Sequence[int]
    are_hosts_everywhere: bool = False
    """Whether all zones have hosts, not only leaves."""
    compares_with_flat: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole scenario. ``recorded`` is the file of a recorded load, instead of streams."""

    file: Path
    title: str
    duration_seconds: float
    seed: int
    shapes: Sequence[HostShape]
    flavors: Mapping[str, Flavor]
    images: Mapping[str, ImageMeta]
    aggregates: Mapping[str, Mapping[str, str]]
    groups: Mapping[str, GroupRules]
    streams: Sequence[Stream]
    recorded: Path | None
    failures: HostFailures
    builds: Builds
    push_interval_seconds: float
    """Seconds between pushes of changed host states to the scheduler; 0: each one immediately."""
    tree: ZoneTree | None = None
    """Each zone with hosts has all shapes that match its name."""

    @property
    def hosts_total(self) -> int:
        return sum(len(shape.names) for shape in self.shapes)

    @property
    def zones(self) -> set[str]:
        return {shape.zone for shape in self.shapes if shape.zone is not None}
