"""Results of a simulation: figures determined by scenario, seed and policy, and timings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy's figures; all except ``decisions`` are reproducible."""

    policy: str
    counts: Mapping[str, int]
    refusals: Sequence[Mapping[str, Any]]
    utilisation: Mapping[str, Mapping[str, float]]
    """Class -> mean, peak, end as fractions of the capacity; capacity."""
    measures: Mapping[str, Mapping[str, float]]
    """Fragmentation, load of hosts, empty hosts -> mean and end."""
    series: Mapping[str, Sequence[float]]
    story: str
    """A digest of all events."""
    decisions: Mapping[str, float]
    """Count, per_second, p50_ms, p99_ms, by the real clock."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything except timings: equal for equal scenario, seed and policy."""
        told = {key: value for key, value in self._plain().items() if key != "decisions"}
        text = json.dumps({**told, "policy": None}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_plain(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {**self._plain(), "fingerprint": self.fingerprint}

    def _plain(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "counts": dict(self.counts),
            "refusals": list(self.refusals),
            "utilisation": dict(self.utilisation),
            "measures": dict(self.measures),
            "decisions": dict(self.decisions),
            "series": dict(self.series),
            "story": self.story,
        }
