"""Counts of a simulation's instances by outcome."""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.results.refusals import Refusals


@dataclass(slots=True)
class OutcomeCounts:
    """Counts of instances, except for ``requests`` and ``decisions``.

    ``requested`` are accepted, refused (no host), failed (no host could build it) or building;
    ``accepted`` ran and are running, ended, or lost with their hosts.
    """

    requests: int = 0
    requests_refused: int = 0
    requested: int = 0
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    building: int = 0
    running: int = 0
    ended: int = 0
    lost: int = 0
    retries: int = 0
    """Builds that were retried on an alternate."""
    hosts_refused: int = 0
    """Hosts that had no room when the build started."""
    hosts_failed: int = 0
    refusals: Refusals = field(default_factory=Refusals)
    decision_seconds: array[float] = field(default_factory=lambda: array("d"))
    _story: Any = field(default_factory=hashlib.sha256)

    def happened(self, now: float, what: str, *about: str) -> None:
        """Record an event that the outcome's fingerprint depends on."""
        self._story.update(f"{now!r} {what} {' '.join(about)}\n".encode())

    @property
    def fingerprint(self) -> str:
        """A digest of all events in order."""
        digest: str = self._story.hexdigest()
        return digest

    def counts(self) -> dict[str, int]:
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, int)}

    def decisions(self) -> dict[str, float]:
        """Return the speed of decisions, by the real clock."""
        seconds = np.frombuffer(self.decision_seconds, dtype=np.float64)
        total = float(seconds.sum())
        if not total:
            return {"count": len(seconds), "per_second": 0.0, "p50_ms": 0.0, "p99_ms": 0.0}
        return {
            "count": len(seconds),
            "per_second": len(seconds) / total,
            "p50_ms": float(np.percentile(seconds, 50)) * 1000,
            "p99_ms": float(np.percentile(seconds, 99)) * 1000,
        }
