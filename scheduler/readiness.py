"""Readiness after a start: how long requests wait, and which decisions would be premature."""

import time
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from objects.destinations import Destinations
from objects.traces.decision_trace import DecisionTrace
from scheduler.drivers.base import SchedulerDriver
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.state_sync import StateSync
from scheduler.request.scheduling_request import Outcome
from scheduler.zones.service import ZoneService

T = TypeVar("T")

_FRESH_SECONDS = 0.5
"""Seconds after a start for which requests wait for news, if a snapshot can answer them."""

_DOUBT_SECONDS = 10.0
"""Seconds for which requests wait for cells that were silent while this process was cut off."""


class Readiness:
    """What this process knows of cells, hosts and zones so soon after its start."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        host_store: HostStore,
        sync: StateSync,
        driver: SchedulerDriver,
        zones: ZoneService | None,
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._sync = sync
        self._driver = driver
        self._zones = zones
        self.start(is_restored=False)

    def start(self, *, is_restored: bool) -> None:
        """Begin to count the time since the start, with or without a snapshot."""
        self._started = time.monotonic()
        self._is_restored = is_restored

    def wait(self) -> None:
        """Wait for cells, hosts and zones. Raises ``Unavailable`` if no cell is known yet."""
        if not self._sync.wait_ready(0):
            self._sync.wait_ready(self._first_wait_seconds())
        if not self._sync.has_cluster_metadata:
            raise exception.Unavailable(
                reason="the scheduler has just started and does not know cells and hosts yet"
            )
        self._sync.wait_for_cells_in_doubt(_DOUBT_SECONDS)
        if self._zones is not None:
            self._zones.wait_ready(self._first_wait_seconds)

    def _first_wait_seconds(self) -> float:
        """Return how long a request may wait for what has not been heard since the start."""
        seconds: float = self._conf.scheduler.first_sync_wait_seconds
        if not (self._is_restored and self._sync.can_answer):
            return seconds
        since_start = time.monotonic() - self._started
        return max(0.0, min(seconds, _FRESH_SECONDS - since_start))

    def checked(self, outcome: Outcome) -> Outcome:
        """Return an outcome with its age, or ``Unavailable`` for one that is premature."""
        return self._with_age(self._unless_premature(outcome))

    def _with_age(self, outcome: T) -> T:
        """Return a decision whose trace says which hosts were known from a snapshot only."""
        if isinstance(outcome, Destinations) and (notes := self.age_notes()):
            outcome.trace.old_states = notes
            outcome.trace.obj_reset_changes()
        return outcome

    def age_notes(self) -> list[str]:
        """Return a sentence for each cell whose hosts are known from a snapshot only."""
        cells = self._host_store.restored_cells().values()
        return [
            f"{hosts:,} {'host' if hosts == 1 else 'hosts'} of a cell that has not answered since "
            f"the scheduler's start: state as of {as_of}."
            for hosts, as_of in cells
        ]

    def _unless_premature(self, outcome: Outcome) -> Outcome:
        """Return ``Unavailable`` for a request whose host may not have been reported here yet.

        A cell that does not answer within ``service_down_time`` counts as down.
        """
        if not isinstance(outcome, exception.NoValidHost):
            return outcome
        trace = DecisionTrace.obj_from_primitive(outcome.kwargs["trace"])
        if self._zones is not None and (unheard := self._zones.unheard_among(trace.zones)):
            return exception.Unavailable(
                reason="the scheduler has just started and has not heard from "
                f"{'zone' if len(unheard) == 1 else 'zones'} {', '.join(unheard)} yet"
            )
        unknown = trace.unknown
        restored = self._host_store.restored_cells()
        if not (unknown or restored) and self._driver.uses_allocation_candidates:
            return outcome  # placement knows all hosts, even those not reported here yet
        if self.may_hear_of_hosts:
            self._driver.refresh()
            return exception.Unavailable(
                reason="the scheduler has just started and does not know "
                f"{unknown or 'the state of some'} hosts yet"
            )
        return outcome

    @property
    def may_hear_of_hosts(self) -> bool:
        """Whether this process is so young that cells which have not answered may be just slow."""
        is_young = time.monotonic() - self._started < self._conf.service_down_time
        return is_young and not self._sync.is_complete
