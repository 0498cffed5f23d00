"""Metrics of all services: each is declared here once, with the function that records it.

The functions take plain values and never raise; callers need not know about Prometheus. The table
in docs/operating/monitoring.md lists the same metrics, and a test compares the two.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import prometheus_client

from armillary.metrics import process_metrics

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COUNTS = (0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)


@dataclasses.dataclass(frozen=True)
class Counter:
    """A count of events; exposed as ``armillary_<name>_total``."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()

    @functools.cached_property
    def here(self) -> prometheus_client.Counter:
        """The metric of this process."""
        return process_metrics().counter(self.name, self.documentation, self.labels)


@dataclasses.dataclass(frozen=True)
class Histogram:
    """A distribution of durations or sizes; exposed as ``armillary_<name>``."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = SECONDS

    @functools.cached_property
    def here(self) -> prometheus_client.Histogram:
        """The metric of this process."""
        return process_metrics().histogram(self.name, self.documentation, self.labels, self.buckets)


@dataclasses.dataclass(frozen=True)
class Gauge:
    """A current value; exposed as ``armillary_<name>``."""

    name: str
    documentation: str
    labels: tuple[str, ...] = ()

    @functools.cached_property
    def here(self) -> prometheus_client.Gauge:
        """The metric of this process."""
        return process_metrics().gauge(self.name, self.documentation, self.labels)


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
RPC_REFUSED = Counter(
    "rpc_refused",
    "Messages and answers rejected for an invalid signature or missing authority, by topic "
    "and reason.",
    ("topic", "reason"),
)
RPC_UNSIGNED = Counter(
    "rpc_unsigned", "Unsigned messages accepted, as [signing] mode = accept allows.", ("topic",)
)
DECISIONS = Counter(
    "scheduler_decisions",
    "Requests decided, dry runs included, by outcome: placed, no_valid_host.",
    ("outcome",),
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
ZONES_ASKED = Counter("zones_asked", "Requests to child zones for hosts.")
ZONES_PRUNED = Counter(
    "zones_pruned", "Child zones not asked because nothing below them can serve the request."
)
ZONES_MISSING = Counter(
    "zones_missing",
    "Child zones that were asked but did not answer, by outcome: late, failed.",
    ("outcome",),
)
ALTERNATES_TRIED = Counter(
    "alternates_tried",
    "Alternates tried in place of a host, by reason: build_failed, claim_refused.",
    ("reason",),
)
TAKEN_UP = Counter(
    "works_taken_up", "Tasks resumed after their lease expired, by table.", ("table",)
)
IN_RECOVERY = Gauge(
    "works_in_recovery",
    "Tasks without a lease holder at the last scan, by table; each of them is resumed.",
    ("table",),
)
LEASES_HELD = Gauge("leases_held", "Leases that this process renews.", ("table",))
LEASES_LOST = Counter(
    "leases_lost", "Tasks that another process took over while this one was working on them."
)
ALLOCATIONS_LOOKED_AT = Counter(
    "allocations_looked_at",
    "Allocations checked by self-healing, by verdict; released counts those of deleted "
    "servers that it released.",
    ("verdict",),
)
AUDITED = Gauge(
    "audit_consumers",
    "Consumers in placement without an owner at the last audit, by verdict: orphaned, "
    "foreign, unsure.",
    ("verdict",),
)
LACKING = Gauge(
    "audit_servers",
    "Servers on a host that lacked allocations at the last audit, by verdict: healed, refused, "
    "misplaced (their allocations are on another host), without_node.",
    ("verdict",),
)
RECONCILED = Counter(
    "reconciled",
    "Differences between actual and expected guests that an agent repaired, by action: "
    "destroy, delete, reportagain, settle, adopt.",
    ("what",),
)
POOL_WAITING = Gauge("pool_waiting", "Calls that wait for a worker of a pool, by pool.", ("pool",))
NOTIFICATIONS_SENT = Counter(
    "notifications_sent", "Notifications sent, by way: bus, feed.", ("way",)
)
NOTIFICATIONS_DROPPED = Counter(
    "notifications_dropped",
    "Notifications lost, by reason: queue_full, not_sent.",
    ("reason",),
)
FOLLOWERS = Gauge("event_followers", "Clients that follow the events of this API process.")
FOLLOWERS_DROPPED = Counter(
    "event_followers_dropped", "Followers disconnected because they read too slowly."
)

ALL = tuple(
    value for value in list(globals().values()) if isinstance(value, Counter | Histogram | Gauge)
)


# Decisions --------------------------------------------------------------------------------------


def decision_ended(outcome: str, candidates: int, timings_ms: Mapping[str, float]) -> None:
    """Count a decision with its stages; ``outcome`` is placed or no_valid_host."""
    _counter(DECISIONS, outcome).inc()
    CANDIDATES.here.observe(candidates)
    for stage, milliseconds in timings_ms.items():
        _seconds_of_stage(stage).observe(milliseconds / 1000)


def claim_refused() -> None:
    """Count a claim refused because of a concurrent change."""
    CLAIM_CONFLICTS.here.inc()


# Tasks ------------------------------------------------------------------------------------------


def alternate_tried(reason: str) -> None:
    """Count an alternate; ``reason`` is build_failed or claim_refused."""
    _counter(ALTERNATES_TRIED, reason).inc()


def record_orphaned_tasks(table: str, count: int) -> None:
    """Record how many tasks of a table had no lease holder, including those resumed at once."""
    IN_RECOVERY.here.labels(table).set(count)


def tasks_resumed(table: str, count: int = 1) -> None:
    """Count tasks resumed here because their worker is gone."""
    _counter(TAKEN_UP, table).inc(count)


def lease_lost() -> None:
    """Count a task that another process has taken over."""
    LEASES_LOST.here.inc()


def allocations_looked_at(counts: Mapping[str, int]) -> None:
    """Count the results of self-healing, by verdict."""
    for verdict, count in counts.items():
        _counter(ALLOCATIONS_LOOKED_AT, verdict).inc(count)


def consumers_audited(**counts: int) -> None:
    """Record the results of an audit of consumers, by verdict."""
    for verdict, count in counts.items():
        AUDITED.here.labels(verdict).set(count)


def servers_audited(**counts: int) -> None:
    """Record how many servers lacked allocations at an audit, by verdict."""
    for verdict, count in counts.items():
        LACKING.here.labels(verdict).set(count)


def reconciled(what: str) -> None:
    """Count a difference that an agent found and repairs."""
    _counter(RECONCILED, what).inc()


def watch_leases(table: str, kept: Any) -> None:
    """Expose the number of leases in ``kept``, a sized object, for as long as it lives."""
    _show_size(LEASES_HELD.here.labels(table), kept, len)


def watch_pool(pool: str, waiting: Any) -> None:
    """Expose the number of calls waiting in ``waiting``, a queue, for as long as it lives."""
    _show_size(POOL_WAITING.here.labels(pool), waiting, lambda queue: queue.qsize())


# Signatures -------------------------------------------------------------------------------------


def message_refused(topic: str, reason: str) -> None:
    """Count a message or an answer that was dropped."""
    _counter(RPC_REFUSED, topic, reason).inc()


def unsigned_message(topic: str) -> None:
    """Count an unsigned message that was accepted."""
    _counter(RPC_UNSIGNED, topic).inc()


# Notifications ----------------------------------------------------------------------------------


def notifications_sent(way: str, count: int = 1) -> None:
    """Count sent notifications."""
    _counter(NOTIFICATIONS_SENT, way).inc(count)


def notifications_dropped(reason: str, count: int = 1) -> None:
    """Count lost notifications; ``reason`` is queue_full or not_sent."""
    _counter(NOTIFICATIONS_DROPPED, reason).inc(count)


def follower_came() -> None:
    """Count a client that starts to follow events."""
    FOLLOWERS.here.inc()


def follower_went() -> None:
    """Count a client that no longer follows events."""
    FOLLOWERS.here.dec()


def follower_dropped() -> None:
    """Count a follower that read too slowly."""
    FOLLOWERS_DROPPED.here.inc()


def _show_size(gauge: prometheus_client.Gauge, holder: Any, size: Callable[[Any], int]) -> None:
    reference = weakref.ref(holder)

    def now() -> float:
        found = reference()
        return 0.0 if found is None else float(size(found))

    gauge.set_function(now)


def zone_asked() -> None:
    """Count a request to a child zone."""
    ZONES_ASKED.here.inc()


def zone_pruned() -> None:
    """Count a child zone that did not need to be asked."""
    ZONES_PRUNED.here.inc()


def zone_missing(outcome: str) -> None:
    """Count a child zone without an answer."""
    _counter(ZONES_MISSING, outcome).inc()


@functools.cache
def _counter(measure: Counter, *labels: str) -> prometheus_client.Counter:
    """Return the counter for these labels, which have few values; cached."""
    return measure.here.labels(*labels)


@functools.cache
def _seconds_of_stage(stage: str) -> prometheus_client.Histogram:
    return DECISION_SECONDS.here.labels(stage)
