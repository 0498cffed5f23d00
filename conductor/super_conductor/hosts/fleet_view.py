"""The view of the fleet: what a scheduler and placement know of all hosts, kept for a moment."""

import contextlib
import threading
from collections.abc import Iterator

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock
from conductor.super_conductor.db import metadata_seq
from conductor.super_conductor.hosts import fleet_columns
from conductor.super_conductor.hosts.fleet_columns import HostPlaces, Order
from objects.hosts.fleet import FLEET_LIMIT_MAX, FleetPage, FleetUsage, HostColumns
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI

KEPT_SECONDS = 2.0
"""How long an answer is kept, so that many open pages cost as much as one."""
WAIT_SECONDS_MAX = 10.0
"""How long a caller waits for another that asks scheduler and placement."""


class FleetView:
    """Endpoint of ``SuperConductorAPI.get_fleet``. Thread-safe; its memory is a view."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        scheduler: SchedulerAPI,
        placement: PlacementAPI,
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._scheduler = scheduler
        self._placement = placement
        self._now = now
        self._lock = threading.Lock()
        self._made_at = 0.0
        self._whole: FleetPage | None = None
        self._usage: FleetUsage | None = None
        self._places: HostPlaces | None = None
        self._order: Order | None = None
        self._joined: tuple[HostColumns, FleetUsage, HostPlaces] | None = None

    def get_fleet(
        self,
        context: RequestContext,
        limit: int,
        marker: str | None = None,
        known_epoch: str | None = None,
    ) -> FleetPage:
        if not 0 < limit <= FLEET_LIMIT_MAX:
            raise exception.Invalid(reason=f"limit must be 1 to {FLEET_LIMIT_MAX}, not {limit}")
        with self._one_at_a_time():  # the others get the same answer
            whole = self._current(context)
        page = fleet_columns.page_of(whole, limit, marker)
        return fleet_columns.without_rows(page.epoch) if page.epoch == known_epoch else page

    @contextlib.contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=WAIT_SECONDS_MAX):
            raise exception.Unavailable(reason="scheduler or placement answer too slowly")
        try:
            yield
        finally:
            self._lock.release()

    def _current(self, context: RequestContext) -> FleetPage:
        age = self._now() - self._made_at
        if self._whole is None or not 0 <= age < KEPT_SECONDS:
            self._refresh(context)
            self._made_at = self._now()
        assert self._whole is not None
        return self._whole

    def _refresh(self, context: RequestContext) -> None:
        """Ask for what is known now; join it unless all of it is as before."""
        hosts = self._scheduler.list_hosts(context)
        usage, places = self._usage_now(context), self._places_now()
        former, self._joined = self._joined, (hosts, usage, places)
        is_same = (
            former is not None
            and former[1] is usage
            and former[2] is places
            and fleet_columns.are_equal(former[0], hosts)
        )
        if not is_same:
            self._order = Order.of(hosts, usage, self._order)
            self._whole = fleet_columns.joined(hosts, usage, places, self._order)

    def _usage_now(self, context: RequestContext) -> FleetUsage:
        known = None if self._usage is None else self._usage.epoch
        found = self._placement.get_fleet_usage(context, known_epoch=known)
        if self._usage is None or found.epoch != known:
            self._usage = found
        return self._usage

    def _places_now(self) -> HostPlaces:
        with self._database.reader() as session:
            seq = metadata_seq.get_seq(session)
            if self._places is None or self._places.seq != seq:
                self._places = fleet_columns.places_of(
                    session, seq, self._conf.default_availability_zone
                )
            return self._places
