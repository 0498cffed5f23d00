"""Results of a simulation: figures determined by scenario, seed and policy, and timings."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.results.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy's figures; all except ``decisions`` are reproducible."""

    policy: str
    counts: Mapping[str, int]
    refusals: Sequence[Refusal]
    utilisation: Mapping[str, Mapping[str, float]]
    """Class -> mean, peak, end as fractions of the capacity; capacity."""
    measures: Mapping[str, Mapping[str, float]]
    """Fragmentation, load of hosts, empty hosts -> mean and end."""
    series: Mapping[str, Sequence[float]]
    hosts: Mapping[str, Any]
    """Samples of single hosts: ``seconds``, and ``hosts`` by name."""
    story: str
    """A digest of all events."""
    decisions: Mapping[str, float]
    """Count, per_second, p50_ms, p99_ms, by the real clock."""
    samples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """``placed`` and ``refused``: decisions with their traces, for the page; not in the JSON."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything except timings: equal for equal scenario, seed and policy."""
        told = {**self._figures(), "policy": None}
        del told["decisions"], told["hosts"]  # the series are sums of the latter
        text = json.dumps(told, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_plain(self) -> dict[str, object]:
        return {**self._figures(), "fingerprint": self.fingerprint}

    def _figures(self) -> dict[str, object]:
        names = [each.name for each in dataclasses.fields(self) if each.name != "samples"]
        figures = {name: getattr(self, name) for name in names}
        figures["refusals"] = [dataclasses.asdict(refusal) for refusal in self.refusals]
        return figures
