"""Timing metrics of RPC messages on both sides, by topic and method."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import oslo_messaging

from armillary import exception
from armillary.metrics import service_metrics, tracing

SENT_AT = "sent_at"
"""Context key of the time a message was sent, in seconds since 1970; older peers omit it."""

UNKNOWN = "unknown"
"""Label for methods that are not served, to bound the number of labels."""

Seconds = Callable[[], float]
Outcome = Callable[[], None]


_OUTCOMES = {
    service_metrics.RPC_SERVER_CALLS.name: ("ok", "refused", "error"),
    service_metrics.RPC_CLIENT_CALLS.name: ("ok", "refused", "timeout", "unavailable", "error"),
}
"""Counter -> the outcomes that a method has from its first message on, with 0."""


class _MethodMetrics:
    """Cached metrics of one method, as looking up labels is slow."""

    def __init__(
        self,
        seconds: service_metrics.Histogram,
        calls: service_metrics.Counter,
        topic: str,
        method: str,
    ) -> None:
        self.observe = seconds.here.labels(topic, method).observe
        outcomes = _OUTCOMES[calls.name]
        self.count = {each: calls.here.labels(topic, method, each).inc for each in outcomes}

    def ended(self, outcome: str, seconds: float) -> None:
        self.observe(seconds)
        self.count[outcome]()


class _Times:
    """Metrics of the methods of one topic."""

    def __init__(
        self, seconds: service_metrics.Histogram, calls: service_metrics.Counter, topic: str
    ) -> None:
        self._seconds = seconds
        self._calls = calls
        self._topic = topic
        self._kept: dict[str, _MethodMetrics] = {}

    def ended(self, method: str, outcome: str, seconds: float) -> None:
        """Record a message."""
        kept = self._kept.get(method)
        if kept is None:
            kept = _MethodMetrics(self._seconds, self._calls, self._topic, method)
            self._kept[method] = kept
        kept.ended(outcome, seconds)


class ServerTimes(_Times):
    """Measures the dispatcher of one topic."""

    def __init__(self, topic: str, *, clock: Seconds = time.perf_counter) -> None:
        super().__init__(
            service_metrics.RPC_SERVER_SECONDS, service_metrics.RPC_SERVER_CALLS, topic
        )
        self._clock = clock
        self._queued = service_metrics.RPC_QUEUE_SECONDS.here.labels(topic).observe
        service_metrics.expose(service_metrics.RPC_UNSIGNED, topic)
        for reason in service_metrics.REFUSAL_REASONS:
            service_metrics.expose(service_metrics.RPC_REFUSED, topic, reason)

    def timed(self, dispatch: Callable[[Any], Any], *, now: Seconds = time.time) -> Any:
        """Return ``dispatch`` with time measurement."""
        clock = self._clock

        def timed_dispatch(incoming: Any) -> Any:
            sent_at = _sent_at(incoming.ctxt)
            if sent_at is not None:
                self._queued(max(0.0, now() - sent_at))
            method = incoming.message.get("method")
            started = clock()
            try:
                with _span(self._topic, method, incoming.ctxt):
                    answer = dispatch(incoming)
            except Exception as error:
                self.ended(_served(method, error), _server_outcome(error), clock() - started)
                raise
            self.ended(method, "ok", clock() - started)
            return answer

        return timed_dispatch


class ClientTimes(_Times):
    """Measures the calls and casts of one topic's clients."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            service_metrics.RPC_CLIENT_SECONDS, service_metrics.RPC_CLIENT_CALLS, topic
        )


def _span(topic: str, method: object, context: Any) -> AbstractContextManager[Any]:
    parent = context.get(tracing.HEADER) if isinstance(context, Mapping) else None
    return tracing.span(
        f"{topic} {method}", tracing.SERVER, parent if isinstance(parent, str) else None,
        rpc_service=topic, rpc_method=str(method),
    )  # fmt: skip


def _sent_at(context: Any) -> float | None:
    value = context.get(SENT_AT) if isinstance(context, Mapping) else None
    return value if isinstance(value, float) else None


def _served(method: str, error: Exception) -> str:
    is_unknown = isinstance(error, oslo_messaging.NoSuchMethod | oslo_messaging.UnsupportedVersion)
    return UNKNOWN if is_unknown else method


def _server_outcome(error: Exception) -> str:
    if not isinstance(error, oslo_messaging.ExpectedException):
        return "error"
    return "error" if isinstance(error.exc_info[1], exception.RpcFailed) else "refused"
