"""Metrics of all services: each is declared here once, and exposed on a port.

The table in docs/operating/monitoring.md lists the same metrics, and a test compares the two.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import prometheus_client

LOG = logging.getLogger(__name__)

H = TypeVar("H")

PREFIX = "armillary"
DEFAULT_PORTS = {
    "armillary-api": 9710,
    "armillary-conductor super": 9730,
    "armillary-conductor cell": 9750,
    "armillary-scheduler": 9770,
    "armillary-placement": 9790,
    "armillary-placement-rest": 9810,
    "armillary-compute": 9830,
    "armillary": 9850,
}
"""First port of each kind of service, a conductor's with its role: room for 20 worker processes."""
SCRAPES_MAX = 2
"""Maximum number of scrapes answered at the same time."""
SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COUNTS = (0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)


_guard = threading.Lock()
_made: dict[str, prometheus_client.metrics.MetricWrapperBase] = {}


@dataclasses.dataclass(frozen=True)
class _Metric:
    name: str
    documentation: str
    labels: tuple[str, ...] = ()

    def _make(self, kind: type[Any], **more: Any) -> Any:
        """Return the metric of this process, made when it is first used."""
        with _guard:
            if self.name not in _made:
                _made[self.name] = kind(
                    self.name, self.documentation, self.labels, namespace=PREFIX, **more
                )
            return _made[self.name]


@dataclasses.dataclass(frozen=True)
class Counter(_Metric):
    """A count of events; exposed as ``armillary_<name>_total``.

    ``known`` are values of its label, for which it is exposed from the start, with 0.
    """

    known: tuple[str, ...] = ()

    @functools.cached_property
    def here(self) -> prometheus_client.Counter:
        return self._make(prometheus_client.Counter)

    def add(self, *labels: str, count: int = 1) -> None:
        _labelled(self, *labels).inc(count)


class Gauge(_Metric):
    """A current value; exposed as ``armillary_<name>``."""

    @functools.cached_property
    def here(self) -> prometheus_client.Gauge:
        return self._make(prometheus_client.Gauge)

    def set(self, value: float, *labels: str) -> None:
        self.here.labels(*labels).set(value)


@dataclasses.dataclass(frozen=True)
class Histogram(_Metric):
    """A distribution of durations or sizes; exposed as ``armillary_<name>``."""

    buckets: tuple[float, ...] = SECONDS

    @functools.cached_property
    def here(self) -> prometheus_client.Histogram:
        return self._make(prometheus_client.Histogram, buckets=self.buckets)


Values = Mapping[tuple[str, ...], float]
"""Values of labels -> value."""


@dataclasses.dataclass(frozen=True)
class Reading(_Metric):
    """Values that are read when they are asked for; exposed as ``armillary_<name>``."""

    @functools.cached_property
    def here(self) -> _Readings:
        found = _Readings(self)
        prometheus_client.REGISTRY.register(found)
        return found

    def watch(self, holder: H, read: Callable[[H], Values]) -> None:
        """Expose what ``read`` returns of ``holder``, for as long as that lives."""
        self.here.sources.append((weakref.ref(holder), read))


class _Readings:
    """Collector of one reading, from all its sources in this process."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.sources: list[tuple[Any, Callable[[Any], Values]]] = []

    def describe(self) -> list[Any]:
        return [self._family()]

    def collect(self) -> list[Any]:
        """Return the values; a source that fails, as without its database, is left out."""
        family, found = self._family(), dict[tuple[str, ...], float]()
        for reference, read in list(self.sources):
            if (holder := reference()) is not None:
                try:
                    found.update(read(holder))
                except Exception as error:  # a scrape must show the other metrics
                    LOG.debug("%s cannot be read: %s", self._reading.name, error)
        for labels, value in found.items():
            family.add_metric(labels, value)
        return [family]

    def _family(self) -> Any:
        name = f"{PREFIX}_{self._reading.name}"
        documentation, labels = self._reading.documentation, self._reading.labels
        return prometheus_client.metrics_core.GaugeMetricFamily(name, documentation, labels=labels)


def expose(counter: Counter, *labels: str) -> None:
    """Expose a counter for these labels from now on, with 0."""
    _labelled(counter, *labels)


@functools.cache
def _labelled(counter: Counter, *labels: str) -> prometheus_client.Counter:
    """Return the counter for these labels, which have few values; cached."""
    return counter.here.labels(*labels) if labels else counter.here


RPC_SERVER_SECONDS = Histogram(
    "rpc_server_seconds", "Time that a message took here, by topic and method.", ("topic", "method")
)
RPC_SERVER_CALLS = Counter(
    "rpc_server_calls",
    "Messages handled, by topic, method and outcome: ok, refused (an error that is part of the "
    "contract), error.",
    ("topic", "method", "outcome"),
)
RPC_QUEUE_SECONDS = Histogram(
    "rpc_queue_seconds",
    "Age of a message when it is taken from its queue, by topic, by the clocks of two machines.",
    ("topic",),
)
RPC_CLIENT_SECONDS = Histogram(
    "rpc_client_seconds",
    "Time until the answer to a call arrived, or a cast was sent, by topic and method.",
    ("topic", "method"),
)
RPC_CLIENT_CALLS = Counter(
    "rpc_client_calls",
    "Calls and casts made, by topic, method and outcome: ok, refused, timeout, unavailable, error.",
    ("topic", "method", "outcome"),
)
REFUSAL_REASONS = (
    "unsigned", "unknown_key", "expired_key", "bad_signature", "stale", "replayed", "repeated",
    "misdirected", "malformed", "unauthorized",
)  # fmt: skip
"""Why messages are refused; from its start on a server has each with 0."""
RPC_REFUSED = Counter(
    "rpc_refused",
    "Messages and answers rejected for an invalid signature or missing authority, by topic "
    "and reason.",
    ("topic", "reason"),
)
AUDIT_LOST = Counter("audit_lost", "Audit events that could not be written.")
RPC_UNSIGNED = Counter(
    "rpc_unsigned", "Unsigned messages accepted, as [signing] mode = accept allows.", ("topic",)
)
DECISIONS = Counter(
    "scheduler_decisions",
    "Requests decided, dry runs included, by outcome: placed, no_valid_host.",
    ("outcome",),
    known=("placed", "no_valid_host"),
)
DECISION_SECONDS = Histogram(
    "scheduler_decision_seconds",
    "Time of a decision, by stage; the stage total covers all of it.",
    ("stage",),
)
CANDIDATES = Histogram(
    "scheduler_candidates", "Hosts that placement offered for a request.", buckets=COUNTS
)
CLAIM_CONFLICTS = Counter(
    "scheduler_claim_conflicts", "Claims refused because of a concurrent change."
)
HOSTS_REFUSED = Counter(
    "scheduler_hosts_refused",
    "Host states left out because the host is not that of the cell that reported it.",
)
ZONES_ASKED = Counter("zones_asked", "Requests to child zones for hosts.")
ZONES_PRUNED = Counter(
    "zones_pruned", "Child zones not asked because nothing below them can serve the request."
)
ZONES_MISSING = Counter(
    "zones_missing",
    "Child zones that were asked but did not answer, by outcome: late, failed.",
    ("outcome",),
    known=("late", "failed"),
)
ALTERNATES_TRIED = Counter(
    "alternates_tried",
    "Alternates tried in place of a host, by reason: build_failed, claim_refused.",
    ("reason",),
    known=("build_failed", "claim_refused"),
)
TAKEN_UP = Counter(
    "tasks_resumed", "Tasks resumed after their lease expired, by table.", ("table",)
)
TAKEN_OVER = Counter(
    "leases_taken_over",
    "Tasks resumed whose last worker neither renewed nor released its lease, by table.",
    ("table",),
)
IN_RECOVERY = Gauge(
    "tasks_in_recovery",
    "Tasks without a lease holder at the last scan, by table; each of them is resumed.",
    ("table",),
)
LEASES_HELD = Gauge("leases_held", "Leases that this process renews.", ("table",))
LEASES_LOST = Counter(
    "leases_lost", "Tasks that another process took over while this one was working on them."
)
ALLOCATIONS_CHECKED = Counter(
    "allocations_checked",
    "Allocations checked by self-healing, by verdict; released counts those of deleted "
    "servers that it released.",
    ("verdict",),
    known=("tracked", "unknown", "deleted", "unplaced", "elsewhere", "released"),
)
AUDITED_CONSUMERS = Gauge(
    "audit_consumers",
    "Consumers in placement without an owner at the last audit, by verdict: orphaned, "
    "foreign, unsure.",
    ("verdict",),
)
AUDITED_SERVERS = Gauge(
    "audit_servers",
    "Servers on a host that lacked allocations at the last audit, by verdict: healed, refused, "
    "misplaced (their allocations are on another host), without_node.",
    ("verdict",),
)
RECONCILED = Counter(
    "reconciled",
    "Differences between actual and expected guests that an agent repaired, by action: "
    "destroy, delete, reportagain, reportstarted, settle, adopt, renew.",
    ("what",),
    known=("destroy", "delete", "reportagain", "reportstarted", "settle", "adopt", "renew"),
)
POOL_WAITING = Gauge("pool_waiting", "Calls that wait for a worker of a pool, by pool.", ("pool",))
NOTIFICATIONS_SENT = Counter(
    "notifications_sent", "Notifications sent, by way: bus, feed.", ("way",), known=("bus", "feed")
)
NOTIFICATIONS_DROPPED = Counter(
    "notifications_dropped",
    "Notifications lost, by reason: queue_full, not_sent.",
    ("reason",),
    known=("queue_full", "not_sent"),
)
FOLLOWERS = Gauge("event_followers", "Clients that follow the events of this API process.")
FOLLOWERS_DROPPED = Counter(
    "event_followers_dropped", "Followers disconnected because they read too slowly."
)

HOSTS = Reading(
    "hosts",
    "Hosts that this scheduler knows, by cell and state: up, disabled, down.",
    ("cell", "state"),
)
CAPACITY = Reading(
    "capacity",
    "What all providers can give, reserved amounts and overcommitment counted, by resource class.",
    ("resource_class",),
)
USED = Reading(
    "used", "What is allocated of all providers, by resource class.", ("resource_class",)
)
SERVERS = Reading("servers", "Servers of a cell, by cell and state.", ("cell", "state"))

ALL = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, Counter | Histogram | Gauge | Reading)
)


def expose_all() -> None:
    """Expose each counter from now on, with 0, so that its first event is seen as a change."""
    for metric in ALL:
        if isinstance(metric, Counter):
            for value in metric.known:
                _labelled(metric, value)
            if not metric.labels:
                _ = metric.here


def decision_ended(outcome: str, candidates: int, timings_ms: Mapping[str, float]) -> None:
    """Count a decision with its stages; ``outcome`` is placed or no_valid_host."""
    DECISIONS.add(outcome)
    CANDIDATES.here.observe(candidates)
    for stage, milliseconds in timings_ms.items():
        _seconds_of_stage(stage).observe(milliseconds / 1000)


@functools.cache
def _seconds_of_stage(stage: str) -> prometheus_client.Histogram:
    return DECISION_SECONDS.here.labels(stage)


def allocations_checked(counts: Mapping[str, int]) -> None:
    """Count the results of self-healing, by verdict."""
    for verdict, count in counts.items():
        ALLOCATIONS_CHECKED.add(verdict, count=count)


def consumers_audited(**counts: int) -> None:
    """Record the results of an audit of consumers, by verdict."""
    for verdict, count in counts.items():
        AUDITED_CONSUMERS.set(count, verdict)


def servers_audited(**counts: int) -> None:
    """Record how many servers lacked allocations at an audit, by verdict."""
    for verdict, count in counts.items():
        AUDITED_SERVERS.set(count, verdict)


def watch_leases(table: str, kept: Any) -> None:
    """Expose the number of leases in ``kept``, a sized object, for as long as it lives."""
    _show_size(LEASES_HELD.here.labels(table), kept, len)


def watch_pool(pool: str, waiting: Any) -> None:
    """Expose the number of calls waiting in ``waiting``, a queue, for as long as it lives."""
    _show_size(POOL_WAITING.here.labels(pool), waiting, lambda queue: queue.qsize())


def _show_size(gauge: prometheus_client.Gauge, holder: Any, size: Callable[[Any], int]) -> None:
    reference = weakref.ref(holder)

    def now() -> float:
        found = reference()
        return 0.0 if found is None else float(size(found))

    gauge.set_function(now)
