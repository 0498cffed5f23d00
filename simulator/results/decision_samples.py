"""Decisions of a simulation that are kept with their traces, spread evenly over the whole run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from objects.traces.decision_trace import PlainTrace

SAMPLES_MAX = 60


@dataclass(frozen=True, slots=True)
class DecisionSample:
    """A decision: when, for which request, and its trace."""

    at_seconds: float
    request: int
    flavor: str
    count: int
    trace: PlainTrace

    def to_plain(self) -> dict[str, Any]:
        names = ("at_seconds", "request", "flavor", "count", "trace")
        return {name: getattr(self, name) for name in names}


class DecisionSamples:
    """At most ``SAMPLES_MAX`` decisions: when they are too many, every second one is dropped."""

    def __init__(self) -> None:
        self._kept: list[DecisionSample] = []
        self._every = 1
        self._seen = 0

    def add(self, make: Callable[[], DecisionSample]) -> None:
        """Keep a decision if it is one of the sample; only then it is made."""
        if self._seen % self._every == 0:
            self._kept.append(make())
            if len(self._kept) > SAMPLES_MAX:
                self._kept = self._kept[::2]
                self._every *= 2
        self._seen += 1

    def to_plain(self) -> list[Mapping[str, Any]]:
        """Return the decisions in order of time."""
        return [each.to_plain() for each in self._kept]
