"""Concurrent queries to child zones with a common deadline."""

import dataclasses
import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import Protocol

from armillary import exception
from armillary.concurrency import WorkerPoolFull
from armillary.context import RequestContext
from armillary.logs.outage_log import OutageLog
from armillary.metrics import service_metrics
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from scheduler.zones.offers import Offers, ZoneEntry

LOG = logging.getLogger(__name__)

_ZONES_MAX = 1000
"""Maximum number of zones reported for one child's sub-tree."""


class ZoneLinks(Protocol):
    """Connections to the children, by name."""

    def ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        """Query a child without blocking. Raises ``ZoneUnavailable``, ``WorkerPoolFull``."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class ChildResult:
    """One child's result: its offers, and the trace entries of it and the zones below it."""

    offers: Offers
    zones: list[ZoneEntry]


class ChildQueries:
    """Queries of one process to its children. Children may only use weighers known here."""

    def __init__(self, links: ZoneLinks, weigher_names: Collection[str]) -> None:
        self._links = links
        self._weigher_names = set(weigher_names)
        self._outages: dict[str, OutageLog] = {}

    def begin(
        self, queries: Mapping[str, ZoneQuery], context: RequestContext, timeout_seconds: float
    ) -> Callable[[], list[ChildResult]]:
        """Send all queries, by child; return a function that collects results until the deadline.

        Results are in the order of the queries.
        """
        started = time.monotonic()
        asked = {
            name: self._ask(name, context, query, timeout_seconds)
            for name, query in queries.items()
        }
        return lambda: self._wait(asked, started, timeout_seconds)

    def _ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        service_metrics.ZONES_ASKED.add()
        try:
            return self._links.ask(name, context, query, timeout_seconds)
        except (exception.ArmillaryError, WorkerPoolFull) as error:
            failed: Future[ZoneAnswer] = Future()
            failed.set_exception(error)
            return failed

    def _wait(
        self, asked: Mapping[str, Future[ZoneAnswer]], started: float, timeout_seconds: float
    ) -> list[ChildResult]:
        deadline = started + timeout_seconds
        heard = []
        for name, future in asked.items():
            wait([future], timeout=max(0.0, deadline - time.monotonic()))
            heard.append(self._heard(name, future, time.monotonic() - started))
        return heard

    def _heard(self, name: str, future: Future[ZoneAnswer], seconds: float) -> ChildResult:
        outage = self._outages.setdefault(name, OutageLog(LOG, f"Zone {name}"))
        if not future.done():
            future.cancel()
            return self._missing(name, "late", seconds, "no answer in time", outage)
        error = future.exception()
        if isinstance(error, exception.RpcTimeout):
            return self._missing(name, "late", seconds, error.message, outage)
        if error is not None:
            return self._missing(name, "failed", seconds, _text(error), outage)
        answer = future.result()
        try:
            offers = self._known(Offers.of_child(name, answer))
            below = [ZoneEntry.of_child(name, zone) for zone in answer.zones[:_ZONES_MAX]]
        except (ValueError, TypeError, LookupError) as nonsense:
            reason = f"its answer is invalid: {nonsense}"
            return self._missing(name, "failed", seconds, reason, outage)
        outage.succeeded()
        return ChildResult(offers, [ZoneEntry([name], "asked", len(offers), seconds), *below])

    def _known(self, offers: Offers) -> Offers:
        if unknown := sorted(set(offers.weighers) - self._weigher_names):
            raise ValueError(
                f"it uses weighers that are not enabled here ({', '.join(unknown)}), although both "
                "zones have the same [zones] weighing_profile"
            )
        return offers

    def _missing(
        self, name: str, outcome: str, seconds: float, reason: str, outage: OutageLog
    ) -> ChildResult:
        service_metrics.ZONES_MISSING.add(outcome)
        outage.failed(reason)
        zone = ZoneEntry([name], outcome, seconds=seconds, reason=reason)
        return ChildResult(Offers.none(), [zone])


def _text(error: BaseException) -> str:
    if isinstance(error, exception.ArmillaryError):
        return error.message
    return f"{type(error).__name__}: {error}"
