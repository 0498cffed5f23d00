"""A fleet and a load as a scenario describes them: checked, and nothing but data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armillary.cli.simulate.durations import AT_ONCE, ENDLESS, Duration
from objects.flavor import Flavor
from objects.image_meta import ImageMeta

HOSTS_MAX = 100_000
REQUESTS_MAX = 1_000_000
INSTANCES_MAX = 2_000_000
COUNT_MAX = 10_000
CELL = "cell1"


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of one resource class each host of a shape has."""

    total: int
    reserved: int = 0
    ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """What can be given away."""
        return math.floor((self.total - self.reserved) * self.ratio)


@dataclass(frozen=True, slots=True)
class HostShape:
    """Equal hosts."""

    names: Sequence[str]
    amounts: Mapping[str, Amount]
    cell: str = CELL
    zone: str | None = None
    aggregates: Sequence[str] = ()
    traits: Sequence[str] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Host attributes that are not as usual."""
    numa_cells: int = 0
    """Into how many NUMA cells CPUs and memory are shared out; 0 reports none."""
    in_zones: Sequence[str] = ("*",)
    """Globs of the zones that have such hosts, where the scenario has zones."""


@dataclass(frozen=True, slots=True)
class GroupRules:
    """What the members of a server group want."""

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
    """When requests come: ``poisson`` or ``fixed`` by their rate, ``bursts`` of so many."""

    kind: str
    per_second: float = 0.0
    every_seconds: float = 0.0
    requests: int = 0

    @property
    def mean_per_second(self) -> float:
        """How many come in a second, on average."""
        return self.requests / self.every_seconds if self.kind == "bursts" else self.per_second


@dataclass(frozen=True, slots=True)
class Stream:
    """One kind of requests; what has several values is drawn by their weights."""

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
    """The one server group of all of them; None makes new ones as they come."""
    group_requests: int = 1
    """How many requests in a row are of one new server group."""
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
    """How hosts go down and come back."""

    mean_seconds_between: float | None = None
    """For one host; None when none fails by chance."""
    repair: Duration = field(default=Duration("fixed", 3600.0))
    notice_seconds: float = 60.0
    """How long a host counts as up after it went down."""
    keeps_instances: bool = False
    outages: Sequence[Outage] = ()


@dataclass(frozen=True, slots=True)
class Builds:
    """How long builds take, and how many of them fail."""

    seconds: Duration = AT_ONCE
    failure_rate: float = 0.0
    failing_hosts: Sequence[str] = ()
    """Globs of hosts on which every build fails."""


@dataclass(frozen=True, slots=True)
class ZoneTree:
    """How many children each zone has, level by level, and which zones have hosts."""

    widths: Sequence[int]
    are_hosts_everywhere: bool = False
    """Not in leaves only."""
    compares_with_flat: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """All of it. ``recorded`` is the file with a load that was recorded, instead of streams."""

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
    """Between two pushes of changed host states to the scheduler; 0 pushes each at once."""
    tree: ZoneTree | None = None
    """Each zone with hosts has all of these shapes that name it."""

    @property
    def hosts_total(self) -> int:
        """How many hosts there are."""
        return sum(len(shape.names) for shape in self.shapes)

    @property
    def zones(self) -> set[str]:
        """The availability zones that hosts are in."""
        return {shape.zone for shape in self.shapes if shape.zone is not None}
