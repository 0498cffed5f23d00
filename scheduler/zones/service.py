"""Zones as a scheduler process has them: what it asks, answers, pushes and is told."""

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
from conductor.zone_rpcapi import ZoneSummariesAPI
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneQuery
from objects.zone_summary import ZoneSummary
from placement.rpcapi import PlacementAPI
from rpc.transport import Bus
from scheduler.drivers.base import SchedulerDriver
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.drivers.zone_scheduler import ZoneScheduler
from scheduler.fleet import Fleet
from scheduler.zones.children import Children, State
from scheduler.zones.links import MakeBus, RpcLinks
from scheduler.zones.pushing import PUSHES_PER_SECOND_MAX, Pushing
from scheduler.zones.search import ZoneSearch
from scheduler.zones.summarising import Summariser

LOG = logging.getLogger(__name__)

_REFRESH_PAUSE_SECONDS = 1.0


class ZoneService:
    """A named zone's place in the tree. Made for any driver that filters and weighs hosts.

    Only ``zone_scheduler`` asks children; the others answer parents. Raises
    ``ConfigurationError`` when zones are to be asked and there is no way to make a bus to them.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        make_bus: MakeBus | None,
        fleet: Fleet,
        driver: FilterScheduler,
        placement: PlacementAPI,
        is_ready: Callable[[], bool],
    ) -> None:
        self._fleet = fleet
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
            dice=random.Random(),  # noqa: S311 - spreads load, guards nothing
        )
        if isinstance(driver, ZoneScheduler):
            driver.search_with(self.search)
        summariser = Summariser(
            conf,
            fleet=fleet,
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
        self._pushing = Pushing(
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
        """Drop the links to the children."""
        self._links.close()

    def tick(self) -> None:
        """Take over which children there are, note who fell silent, push what is to be pushed."""
        zones = self._fleet.facts.zones
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
        """Have the summary looked at: hosts changed."""
        self._pushing.note_change()

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent's question."""
        return self.search.answer(context, query)

    def describe(self) -> dict[str, Any]:
        """Return what ``SchedulerAPI.get_zones`` answers."""
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
        """Push the summary, and have the children push theirs.

        They are asked once a second at most, so that a question that goes round comes to an end.
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
    """Return what serves zones; None for a deployment that is no part of a tree."""
    if not conf.zones.name or not isinstance(driver, FilterScheduler):
        return None
    return ZoneService(conf, driver=driver, **parts)


NOTHING_KNOWN: Mapping[str, Any] = {"own": None, "zones": []}
"""What is told of zones where there is no tree."""


def _no_bus(transport_url: str) -> Bus:
    raise AssertionError("this scheduler asks no zones")
