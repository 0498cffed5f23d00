"""How long messages take, on both sides, by topic and method; a few microseconds a message."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import oslo_messaging

from armillary import measures

SENT_AT = "sent_at"
"""Key of a message's context: when it was sent, seconds since 1970. Older peers send none."""

UNKNOWN = "unknown"
"""Stands for methods that are not served: whoever may write to a queue could name any number."""

Seconds = Callable[[], float]
Outcome = Callable[[], None]


class _Kept:
    """The time and the count of one method, found once: the way through the labels is long."""

    def __init__(
        self, seconds: measures.Histogram, calls: measures.Counter, topic: str, method: str
    ) -> None:
        self._calls, self._labels = calls, (topic, method)
        self.observe = seconds.here.labels(topic, method).observe
        self.count: dict[str, Outcome] = {}

    def ended(self, outcome: str, seconds: float) -> None:
        self.observe(seconds)
        count = self.count.get(outcome)
        if count is None:
            count = self.count[outcome] = self._calls.here.labels(*self._labels, outcome).inc
        count()


class ServerTimes:
    """Times what the dispatcher of one topic does."""

    def __init__(self, topic: str, *, clock: Seconds = time.perf_counter) -> None:
        self._topic = topic
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._queued = measures.RPC_QUEUE_SECONDS.here.labels(topic).observe

    def timed(self, dispatch: Callable[[Any], Any], *, now: Seconds = time.time) -> Any:
        """Return ``dispatch`` with a clock on it."""
        clock = self._clock

        def timed_dispatch(incoming: Any) -> Any:
            sent_at = _sent_at(incoming.ctxt)
            if sent_at is not None:
                self._queued(max(0.0, now() - sent_at))
            method = incoming.message.get("method")
            started = clock()
            try:
                answer = dispatch(incoming)
            except Exception as error:
                self._ended(_served(method, error), _server_outcome(error), clock() - started)
                raise
            self._ended(method, "ok", clock() - started)
            return answer

        return timed_dispatch

    def _ended(self, method: str, outcome: str, seconds: float) -> None:
        kept = self._kept.get(method)
        if kept is None:
            kept = self._kept[method] = _Kept(
                measures.RPC_SERVER_SECONDS, measures.RPC_SERVER_CALLS, self._topic, method
            )
        kept.ended(outcome, seconds)


class ClientTimes:
    """Times what the clients of one topic wait for."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._kept: dict[str, _Kept] = {}

    def ended(self, method: str, outcome: str, seconds: float) -> None:
        """Note a call or cast."""
        kept = self._kept.get(method)
        if kept is None:
            kept = self._kept[method] = _Kept(
                measures.RPC_CLIENT_SECONDS, measures.RPC_CLIENT_CALLS, self._topic, method
            )
        kept.ended(outcome, seconds)


def _sent_at(context: Any) -> float | None:
    value = context.get(SENT_AT) if isinstance(context, Mapping) else None
    return value if isinstance(value, float) else None


def _served(method: str, error: Exception) -> str:
    is_unknown = isinstance(error, oslo_messaging.NoSuchMethod | oslo_messaging.UnsupportedVersion)
    return UNKNOWN if is_unknown else method


def _server_outcome(error: Exception) -> str:
    return "refused" if isinstance(error, oslo_messaging.ExpectedException) else "error"
