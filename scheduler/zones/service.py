"""Zone support of a scheduler process: queries, answers, and summaries in both directions."""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext, admin_context
from armillary.logs.outage_log import OutageLog
from conductor.super_conductor.zones.interface import ZoneSummariesAPI
from objects.zones.known_zones import KnownZones
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from placement.interface import PlacementAPI
from rpc.signing.place import zone_scope
from rpc.transport import Bus, MakeBus
from scheduler.drivers.base import SchedulerDriver
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.drivers.zone_scheduler import ZoneScheduler, ZoneSearchingScheduler
from scheduler.hosts.store.host_store import HostStore
from scheduler.pools.pool_schedulers import PoolSchedulers
from scheduler.zones.capabilities import Capabilities, is_worth_pushing
from scheduler.zones.children import Children, State
from scheduler.zones.links import RpcLinks
from scheduler.zones.search import ZoneSearch
from scheduler.zones.summariser import Summariser

LOG = logging.getLogger(__name__)

_REFRESH_PAUSE_SECONDS = 1.0
_UNANSWERED = ("late", "failed", "offline", "stale")


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
        pools: PoolSchedulers,
        placement: PlacementAPI,
        is_ready: Callable[[], bool],
    ) -> None:
        self._host_store = host_store
        self.asks_children = isinstance(driver, ZoneScheduler)
        self._known_zones: object = None
        self._known_zones_lock = threading.Lock()
        self._refreshed_at = -_REFRESH_PAUSE_SECONDS
        self.children = Children(conf, clock=time.monotonic, now=lambda: datetime.now(UTC))
        if make_bus is None and self.asks_children:
            raise exception.ConfigurationError(reason="zone_scheduler needs a bus to each zone")
        self._links = RpcLinks(conf, make_bus or _no_bus, self._take, self.children.note_tried)
        self.search = self._search_of(conf, driver)
        self._pools = {kind: self._search_of(conf, one) for kind, one in pools.all().items()}
        summariser = Summariser(
            conf,
            host_store=host_store,
            children=self.children,
            filters=[type(each).__name__ for each in driver.plugin_filters],
            ask_placement=(
                (lambda excluded: placement.get_summary(admin_context(), excluded=excluded))
                if driver.uses_allocation_candidates
                else None
            ),
            now=lambda: datetime.now(UTC),
        )
        parents = ZoneSummariesAPI(top_bus.with_scope(zone_scope(conf.zones.name or "")))
        self._pushing = SummaryPusher(
            conf,
            make=summariser.make,
            send=lambda summary: parents.update_summary(admin_context(), summary),
            is_ready=lambda: is_ready() and self._are_children_known(),
            clock=time.monotonic,
            work_clock=time.thread_time,
        )
        self._states: list[tuple[str, str]] = []

    def _search_of(self, conf: cfg.ConfigOpts, driver: FilterScheduler) -> ZoneSearch:
        """Return the search for the hosts or pools of a driver, which uses it for children."""
        search = ZoneSearch(
            conf,
            decider=driver,
            children=self.children,
            links=self._links,
            rng=random.Random(),  # noqa: S311 - spreads load, guards nothing
        )
        if self.asks_children and isinstance(driver, ZoneSearchingScheduler):
            driver.search_with(search)
        return search

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return [PeriodicTask("zones", 1 / PUSHES_PER_SECOND_MAX, self.tick)]

    def stop(self) -> None:
        """Close the links to the children."""
        self._links.close()

    def tick(self) -> None:
        """Update the set of children, log state changes, and push the summary if needed."""
        self._learn_children()
        states = self.children.states()
        if states != self._states:
            self._tell_of(states)
            self._states = states
            self._pushing.note_change()
        self._pushing.tick()

    def wait_ready(self, limit_seconds: Callable[[], float]) -> None:
        """Wait until the children were asked for their summaries, after a start."""
        if not self.asks_children:
            return
        self._learn_children()
        if not self.children.wait_tried(0):
            self.children.wait_tried(limit_seconds())

    def unheard_among(self, zones: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the children that did not answer and have not pushed since the start.

        ``zones`` are the zones of a decision's trace.
        """
        silent = {
            zone["path"][0]
            for zone in zones
            if len(zone["path"]) == 1 and zone["outcome"] in _UNANSWERED
        }
        return [
            child.name
            for child in self.children.all()
            if child.name in silent and self.children.is_new(child)
        ]

    def note_change(self) -> None:
        """Request a check of the summary after hosts changed."""
        self._pushing.note_change()

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent's query. Raises Invalid for a kind of resource that is unknown here."""
        kind = query.request_spec.kind
        if kind is None:
            return self.search.answer(context, query)
        if kind not in self._pools:
            raise exception.Invalid(reason=f"this zone knows no kind of resource {kind!r}")
        return self._pools[kind].answer(context, query)

    def describe(self) -> KnownZones:
        """Return the response of ``SchedulerAPI.get_zones``."""
        return {
            "own": self._pushing.last,
            "zones": [
                {
                    "name": child.name,
                    "state": self.children.state_of(child).value,
                    "last_seen": child.last_seen.isoformat() if child.last_seen else None,
                    "summary": child.summary,
                }
                for child in self.children.all()
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

    def _learn_children(self) -> None:
        cluster_metadata = self._host_store.cluster_metadata
        if (
            not self.asks_children
            or cluster_metadata.zones is self._known_zones
            or cluster_metadata.is_restored
        ):
            return
        with self._known_zones_lock:
            if cluster_metadata.zones is self._known_zones:
                return
            self.children.set_known(cluster_metadata.zones)
            self._links.set_known(cluster_metadata.zones)
            self._known_zones = cluster_metadata.zones
        self._pushing.note_change()

    def _are_children_known(self) -> bool:
        """Return whether a summary would leave out no child that has something to offer."""
        # If the metadata comes from a snapshot, no super conductor has named the children yet.
        is_cut_off = self._host_store.cluster_metadata.is_restored
        return not self.asks_children or is_cut_off or self.children.wait_tried(0)

    def _take(self, name: str, summary: ZoneSummary) -> None:
        if self.children.take(name, summary):
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


NOTHING_KNOWN: KnownZones = {"own": None, "zones": []}
"""Response for a deployment without zones."""


def _no_bus(transport_url: str, scope: str) -> Bus:
    raise AssertionError("this scheduler queries no zones")


PUSHES_PER_SECOND_MAX = 2
_WORK_SHARE_MAX = 0.02
"""Maximum share of one CPU's time spent on checking for changes."""


class SummaryPusher:
    """Pushes the summary of this zone. Call ``tick`` twice a second. Thread-safe.

    ``make`` creates the summary and ``send`` sends it. ``is_ready`` returns whether all cells were
    asked for their hosts; until then nothing is pushed, because it would understate the zone. Hosts
    of a cell that does not answer count as down. ``work_clock`` returns CPU time in seconds: the
    longer a summary takes, the longer the pause before the next check for changes.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        make: Callable[[], ZoneSummary],
        send: Callable[[ZoneSummary], None],
        is_ready: Callable[[], bool],
        clock: Callable[[], float],
        work_clock: Callable[[], float],
    ) -> None:
        self._conf = conf
        self._make = make
        self._send = send
        self._is_ready = is_ready
        self._clock = clock
        self._work_clock = work_clock
        self._lock = threading.Lock()
        self._last: ZoneSummary | None = None
        self._sent_at = 0.0
        self._has_changed = True
        self._looked_at = 0.0
        self._pause_seconds = 0.0
        self._outage = OutageLog(LOG, "The broker for the zone's summary")

    @property
    def last(self) -> ZoneSummary | None:
        """The last summary created; None before the first."""
        return self._last

    def note_change(self) -> None:
        """Make the next tick check for changes."""
        self._has_changed = True

    def tick(self) -> None:
        """Push if a push is due or if the capabilities changed."""
        with self._lock:
            now, due_at = self._clock(), self._sent_at + self._conf.zones.push_seconds
            is_due = self._last is None or now >= due_at
            # A due push ignores the pause, so leave time for one pause before it.
            may_look = self._looked_at + self._pause_seconds <= now <= due_at - self._pause_seconds
            if not (is_due or (self._has_changed and may_look)) or not self._is_ready():
                return
            self._has_changed = False
            made = self._made()
            last = self._last
            before = None if last is None else Capabilities.from_plain(last.capabilities)
            if is_due or is_worth_pushing(before, Capabilities.from_plain(made.capabilities)):
                self._push(made)

    def push(self) -> None:
        """Push now."""
        with self._lock:
            if self._is_ready():
                self._push(self._made())

    def _made(self) -> ZoneSummary:
        """Create a summary and set the pause before the next check by the time that it took."""
        started = self._work_clock()
        made = self._make()
        self._looked_at = self._clock()
        self._pause_seconds = (self._work_clock() - started) / _WORK_SHARE_MAX
        return made

    def _push(self, made: ZoneSummary) -> None:
        self._last, self._sent_at = made, self._clock()
        try:
            self._send(made)
        except exception.Unavailable as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
