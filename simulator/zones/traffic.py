"""Traffic between zones: message sizes on the wire, and durations."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from armillary.context import RequestContext
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from rpc.wire.serializer import ObjectSerializer

_SERIALIZER = ObjectSerializer()


@dataclass(slots=True)
class Traffic:
    """Counts of one request, or of one round of summaries."""

    questions: int = 0
    question_bytes: int = 0
    answer_bytes: int = 0
    answer_bytes_max: int = 0
    entries_max: int = 0
    """Maximum number of entries in one answer."""
    summaries: int = 0
    summary_bytes: int = 0
    summary_bytes_max: int = 0


@dataclass(slots=True)
class _Span:
    """Duration of a request to a zone.

    ``wall`` with children that answer one after the other, as they do here; ``critical`` as if all
    of them answered at the same time.
    """

    wall: float = 0.0
    critical: float = 0.0


@dataclass(slots=True)
class Meter:
    """Current traffic, and the spans of the requests in progress."""

    traffic: Traffic = field(default_factory=Traffic)
    _spans: list[list[_Span]] = field(default_factory=lambda: [[]])

    def begin(self) -> None:
        self.traffic = Traffic()
        self._spans = [[]]

    def enter(self) -> float:
        """Start a span; return its start time."""
        self._spans.append([])
        return time.perf_counter()

    def leave(self, started: float) -> tuple[float, float]:
        """End a span; return its seconds here, and with all children at the same time."""
        wall = time.perf_counter() - started
        below = self._spans.pop()
        waited = sum(span.wall for span in below)
        critical = wall - waited + max((span.critical for span in below), default=0.0)
        self._spans[-1].append(_Span(wall, critical))
        return wall, critical


class Answerer(Protocol):
    """A zone that answers its parent's request."""

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Return the best hosts of its subtree."""
        ...


class DirectLinks:
    """Links to children in this process; messages are serialised as over a broker."""

    def __init__(self, answerers: Mapping[str, Answerer], meter: Meter) -> None:
        self._answerers = answerers
        self._meter = meter

    def ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        """Ask a child, which answers immediately."""
        future: Future[ZoneAnswer] = Future()
        started = self._meter.enter()
        try:
            future.set_result(self._ask(name, context, query))
        finally:
            self._meter.leave(started)
        return future

    def _ask(self, name: str, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        traffic = self._meter.traffic
        question = _written(
            {
                "method": "select_hosts",
                "args": {"query": _SERIALIZER.serialize_entity(None, query)},
                **_SERIALIZER.serialize_context(context),
            }
        )
        traffic.questions += 1
        traffic.question_bytes += len(question)
        received: ZoneQuery = _SERIALIZER.rebuild(None, json.loads(question)["args"]["query"])
        answered = self._answerers[name].answer(context, received)
        traffic.entries_max = max(traffic.entries_max, len(answered.host_ids))
        answer = _written({"result": _SERIALIZER.serialize_entity(None, answered)})
        traffic.answer_bytes += len(answer)
        traffic.answer_bytes_max = max(traffic.answer_bytes_max, len(answer))
        read: ZoneAnswer = _SERIALIZER.rebuild(None, json.loads(answer)["result"])
        return read


def over_the_wire(summary: ZoneSummary, traffic: Traffic) -> ZoneSummary:
    """Return a summary as its parent deserialises it."""
    text = _written(
        {
            "method": "update_summary",
            "args": {"summary": _SERIALIZER.serialize_entity(None, summary)},
        }
    )
    traffic.summaries += 1
    traffic.summary_bytes += len(text)
    traffic.summary_bytes_max = max(traffic.summary_bytes_max, len(text))
    read: ZoneSummary = _SERIALIZER.rebuild(None, json.loads(text)["args"]["summary"])
    return read


def _written(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode()
