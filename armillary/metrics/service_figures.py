"""Figures that services report with their heartbeats: a few sums of their metrics.

The API shows those of all services together. Each worker process reports its own; the
receiver adds them up. ``armillary up`` runs all services in one process with one set of metrics, so
each service reports only metrics that no other kind of service has.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from armillary import service_history
from armillary.metrics import service_metrics
from armillary.metrics.service_metrics import Counter, Gauge

FIGURES_MAX = 16
"""Maximum number of figures of one worker."""
WORKERS_MAX = 512
VALUE_MAX = 2.0**53

SUPER_CONDUCTOR, CELL_CONDUCTOR = "super conductor", "cell conductor"


@dataclass(frozen=True, slots=True)
class _Figure:
    """The sum of a metric over those of its samples whose label has one of these values.

    ``rate`` names a figure for its increase a second since the last report, if there is one.
    """

    name: str
    metric: Counter | Gauge
    labels: frozenset[str] | None = None
    rate: str | None = None


_SUPER_TABLES = frozenset({"reservations", "moves", "cleanups", "claims", "deferred_operations"})
_CELL_TABLES = frozenset({"instance_builds", "instance_deletes", "instance_operations"})

FIGURES: Mapping[str, tuple[_Figure, ...]] = {
    service_history.SCHEDULER: (
        _Figure("decisions_total", service_metrics.DECISIONS, rate="decisions_per_second"),
        _Figure(
            "no_valid_host_total",
            service_metrics.DECISIONS,
            labels=frozenset({"no_valid_host"}),
            rate="no_valid_host_per_second",
        ),
        _Figure(
            "claims_refused_total",
            service_metrics.CLAIM_CONFLICTS,
            rate="claims_refused_per_second",
        ),
        _Figure(
            "queue_length",
            service_metrics.POOL_WAITING,
            labels=frozenset({"decisions", "deciding"}),
        ),
    ),
    SUPER_CONDUCTOR: (
        _Figure("leases_taken_over_total", service_metrics.TAKEN_OVER, labels=_SUPER_TABLES),
        _Figure("queue_length", service_metrics.POOL_WAITING, labels=frozenset({"builds"})),
    ),
    CELL_CONDUCTOR: (
        _Figure("leases_taken_over_total", service_metrics.TAKEN_OVER, labels=_CELL_TABLES),
        _Figure("queue_length", service_metrics.POOL_WAITING, labels=frozenset({"cell-tasks"})),
    ),
    service_history.API: (_Figure("event_followers", service_metrics.FOLLOWERS),),
    service_history.PLACEMENT: (
        _Figure(
            "calls_total",
            service_metrics.RPC_SERVER_CALLS,
            labels=frozenset({"placement"}),
            rate="calls_per_second",
        ),
    ),
}
"""Kind of service -> its figures; docs/operating/monitoring.md lists them."""


class _Worker:
    """Number of this worker process among those of its service."""

    number = 0


def set_worker(number: int) -> None:
    """Set the number of this worker process, before it reports."""
    _Worker.number = number


def worker_number() -> int:
    """Return the number of this worker process."""
    return _Worker.number


class FigureReporter:
    """Reads the figures of one kind of service; thread-safe."""

    def __init__(self, kind: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._figures = FIGURES.get(kind, ())
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last: dict[str, tuple[float, float]] = {}

    def read(self) -> dict[str, float]:
        """Return the figures of now."""
        found: dict[str, float] = {}
        with self._lock:
            for figure in self._figures:
                value = found[figure.name] = _sum(figure)
                if figure.rate is not None:
                    found[figure.rate] = self._rate(figure.rate, value)
        return found

    def _rate(self, name: str, value: float) -> float:
        now = self._monotonic()
        then, before = self._last.get(name, (now, value))
        self._last[name] = (now, value)
        return round((value - before) / (now - then), 3) if now > then else 0.0


def checked(figures: Mapping[str, object]) -> dict[str, float]:
    """Return reported figures without those that are unknown or not numbers within bounds."""
    return {
        name: float(value)
        for name, value in list(figures.items())[:FIGURES_MAX]
        if name in _NAMES
        and isinstance(value, int | float)
        and math.isfinite(value)
        and 0 <= value <= VALUE_MAX
    }


_NAMES = frozenset(
    name
    for figures in FIGURES.values()
    for figure in figures
    for name in (figure.name, figure.rate)
    if name is not None
)


def _sum(figure: _Figure) -> float:
    return sum(
        sample.value
        for family in figure.metric.here.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
        and (figure.labels is None or not figure.labels.isdisjoint(sample.labels.values()))
    )
