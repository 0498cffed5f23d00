"""Zone support of a scheduler process: queries, answers, and summaries in both directions."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.periodic import PeriodicTask
from conductor.super_conductor.zones.interface import ZoneSummariesAPI
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from placement.interface import PlacementAPI
from rpc.transport import Bus
from scheduler.drivers.base import SchedulerDriver
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.drivers.zone_scheduler import ZoneScheduler
from scheduler.hosts.host_store import HostStore
from scheduler.zones.children import Children, State
from scheduler.zones.links import MakeBus, RpcLinks
from scheduler.zones.search import ZoneSearch
from scheduler.zones.summariser import Summariser
from scheduler.zones.summary_pusher import PUSHES_PER_SECOND_MAX, SummaryPusher

LOG = logging.getLogger(__name__)

_REFRESH_PAUSE_SECONDS = 1.0


class ZoneService:
    """A named zone's node in the tree, for any driver that filters and weighs hosts.

    Only ``zone_scheduler`` queries children; other drivers only answer parents. Raises
    ``ConfigurationError`` if children have to be queried and no bus to them can be created.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        make_bus: MakeBus | None,
        host_store: HostStore,
        driver: FilterScheduler,
        placement: PlacementAPI,
        is_ready: Callable[[], bool],
    ) -> None:
        self._host_store = host_store
        self._asks_children = isinstance(driver, ZoneScheduler)
        self._facts: object = None
        self._refreshed_at = -_REFRESH_PAUSE_SECONDS
        self._children = Children(conf, clock=time.monotonic, now=lambda: datetime.now(UTC))
        if make_bus is None and self._asks_children:
            raise exception.ConfigurationError(reason="zone_scheduler needs a bus to each zone")
        self._links = RpcLinks(conf, make_bus or _no_bus, self._take)
        self.search = ZoneSearch(
            conf,
            decider=driver,
            children=self._children,
            links=self._links,
            rng=random.Random(),  # noqa: S311 - spreads load, guards nothing
        )
        if isinstance(driver, ZoneScheduler):
            driver.search_with(self.search)
        summariser = Summariser(
            conf,
            host_store=host_store,
            children=self._children,
            filters=[type(each).__name__ for each in driver.plugin_filters],
            ask_placement=(
                (lambda excluded: placement.get_summary(admin_context(), excluded=excluded))
                if driver.uses_allocation_candidates
                else None
            ),
            now=lambda: datetime.now(UTC),
        )
        parents = ZoneSummariesAPI(top_bus)
        self._pushing = SummaryPusher(
            conf,
            make=summariser.make,
            send=lambda summary: parents.update_summary(admin_context(), summary),
            is_ready=is_ready,
            clock=time.monotonic,
            work_clock=time.thread_time,
        )
        self._states: list[tuple[str, str]] = []

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return [PeriodicTask("zones", 1 / PUSHES_PER_SECOND_MAX, self.tick)]

    def stop(self) -> None:
        """Close the links to the children."""
        self._links.close()

    def tick(self) -> None:
        """Update the set of children, log state changes, and push the summary if needed."""
        zones = self._host_store.facts.zones
        if self._asks_children and zones is not self._facts:
            self._facts = zones
            self._children.set_known(zones)
            self._links.set_known(zones)
            self._pushing.note_change()
        states = self._children.states()
        if states != self._states:
            self._tell_of(states)
            self._states = states
            self._pushing.note_change()
        self._pushing.tick()

    def note_change(self) -> None:
        """Request a check of the summary after hosts changed."""
        self._pushing.note_change()

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent's query."""
        return self.search.answer(context, query)

    def describe(self) -> dict[str, Any]:
        """Return the response of ``SchedulerAPI.get_zones``."""
        return {
            "own": self._pushing.last,
            "zones": [
                {
                    "name": child.name,
                    "state": self._children.state_of(child).value,
                    "last_seen": child.last_seen.isoformat() if child.last_seen else None,
                    "summary": child.summary,
                }
                for child in self._children.all()
            ],
        }

    def refresh(self) -> None:
        """Push the summary, and ask the children to push theirs.

        Children are asked at most once a second, so that a refresh in a cycle of zones ends.
        """
        now = time.monotonic()
        if now - self._refreshed_at >= _REFRESH_PAUSE_SECONDS:
            self._refreshed_at = now
            self._links.refresh()
        self._pushing.push()

    def _take(self, name: str, summary: ZoneSummary) -> None:
        if self._children.take(name, summary):
            self._pushing.note_change()

    def _tell_of(self, states: Sequence[tuple[str, str]]) -> None:
        former = dict(self._states)
        for name, state in states:
            if former.get(name) != state:
                level = logging.WARNING if state == State.STALE else logging.INFO
                LOG.log(level, "Zone %s is %s", name, state)


def make_zone_service(
    conf: cfg.ConfigOpts, *, driver: SchedulerDriver, **parts: Any
) -> ZoneService | None:
    """Return the zone service; None for a deployment that is not part of a tree."""
    if not conf.zones.name or not isinstance(driver, FilterScheduler):
        return None
    return ZoneService(conf, driver=driver, **parts)


NOTHING_KNOWN: Mapping[str, Any] = {"own": None, "zones": []}
"""Response for a deployment without zones."""


def _no_bus(transport_url: str) -> Bus:
    raise AssertionError("this scheduler queries no zones")
