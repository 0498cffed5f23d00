"""Results of a load on a tree of zones: decisions, and traffic between zones."""

from __future__ import annotations

import dataclasses
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.zones.offers import ZoneEntry
from simulator.results.refusals import Refusals
from simulator.zones.traffic import Traffic

Took = tuple[float, float]
"""Seconds with zones one after the other, and with all of them at the same time."""

_OUTCOMES = ("asked", "pruned", "late", "failed", "stale", "offline", "disabled", "cycle")


@dataclass(slots=True)
class Series:
    """One measurement per request."""

    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, value: float) -> None:
        self.values.append(value)

    def to_plain(self) -> dict[str, float]:
        if not self.values:
            return dict.fromkeys(("mean", "p50", "p99", "max"), 0.0)
        found = np.frombuffer(self.values, dtype=np.float64)
        return {
            "mean": float(found.mean()),
            "p50": float(np.percentile(found, 50)),
            "p99": float(np.percentile(found, 99)),
            "max": float(found.max()),
        }


@dataclass(slots=True)
class Asked:
    """Traffic for requests of one flavor, or of all; times are by the real clock."""

    zones_asked: Series = field(default_factory=Series)
    zones_not_reached: Series = field(default_factory=Series)
    """Zones not asked, because they or a zone above them were ruled out."""
    messages: Series = field(default_factory=Series)
    bytes: Series = field(default_factory=Series)
    wall_ms: Series = field(default_factory=Series)
    """With zones one after the other."""
    critical_ms: Series = field(default_factory=Series)
    """With zones at the same time."""

    def to_plain(self) -> dict[str, dict[str, float]]:
        return {name: getattr(self, name).to_plain() for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class FlatFigures:
    """Comparison with one flat scheduler: two counts, the others as fractions."""

    requests: int
    disagreed: int
    same_first: float
    entries_among_best: float
    loss_mean: float
    loss_max: float


@dataclass(slots=True)
class ZonesOutcome:
    """One policy's figures."""

    policy: str
    zones: int
    zones_with_hosts: int
    levels: int
    hosts: int
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Outcomes of zones, over all requests."""
    refusals: Refusals = field(default_factory=Refusals)
    asked: Asked = field(default_factory=Asked)
    by_flavor: dict[str, Asked] = field(default_factory=dict)
    answer_bytes_max: int = 0
    entries_max: int = 0
    summary_bytes: Series = field(default_factory=Series)
    """All summaries of one round."""
    summary_bytes_max: int = 0
    round_ms: Series = field(default_factory=Series)
    setup_seconds: float = 0.0
    flat: FlatFigures | None = None

    def add_request(
        self, flavor: str, traffic: Traffic, told: Sequence[ZoneEntry], seconds: Took
    ) -> None:
        """Record the traffic of one request, and the outcome of each zone."""
        found = Counter(each.outcome for each in told)
        self.outcomes.update({name: found[name] for name in _OUTCOMES})
        self.answer_bytes_max = max(self.answer_bytes_max, traffic.answer_bytes_max)
        self.entries_max = max(self.entries_max, traffic.entries_max)
        wall, critical = seconds
        for asked in (self.asked, self.by_flavor.setdefault(flavor, Asked())):
            asked.zones_asked.add(found["asked"])
            asked.zones_not_reached.add(self.zones - 1 - found["asked"])
            asked.messages.add(2 * traffic.questions)
            asked.bytes.add(traffic.question_bytes + traffic.answer_bytes)
            asked.wall_ms.add(wall * 1000)
            asked.critical_ms.add(critical * 1000)

    def to_plain(self) -> dict[str, object]:
        return {
            "policy": self.policy,
            "zones": self.zones,
            "zones_with_hosts": self.zones_with_hosts,
            "levels": self.levels,
            "hosts": self.hosts,
            "counts": dict(self.counts),
            "outcomes": dict(self.outcomes),
            "refusals": [dataclasses.asdict(refusal) for refusal in self.refusals.ranked()],
            **self.asked.to_plain(),
            "by_flavor": {name: asked.to_plain() for name, asked in self.by_flavor.items()},
            "summary_bytes": self.summary_bytes.to_plain(),
            "round_ms": self.round_ms.to_plain(),
            "answer_bytes_max": self.answer_bytes_max,
            "entries_max": self.entries_max,
            "summary_bytes_max": self.summary_bytes_max,
            "setup_seconds": self.setup_seconds,
            "flat": None if self.flat is None else dataclasses.asdict(self.flat),
        }
