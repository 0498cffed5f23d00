"""Base class of scheduler drivers, and the loader of the configured one."""

import abc
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from oslo_config import cfg

from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from scheduler.hosts.store.host_store import HostStore
from scheduler.plugins import loading
from scheduler.request.scheduling_request import Outcome, SchedulingRequest

NAMESPACE = "armillary.scheduler.driver"


class SchedulerDriver(abc.ABC):
    """Selects hosts for instances. Thread-safe: decisions run concurrently."""

    uses_allocation_candidates: ClassVar[bool]
    """Whether the driver queries placement for candidates and claims there. A driver that does not
    leaves ``Selection.allocation_request`` empty: nothing is claimed, not even for alternates, and
    missing allocations are not reported. The limits set by filters protect capacity on the host."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        host_store: HostStore,
        placement: PlacementAPI,
        rng: random.Random,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._placement = placement
        self._rng = rng
        self._clock = clock
        self._now = now
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027 - most drivers need nothing
        """Load plugins and create parts at the end of construction; raise as ``load_driver``."""

    @abc.abstractmethod
    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool,
        dry_run: bool,
    ) -> Destinations:
        """Implement ``SchedulerAPI.select_destinations``; ``request_spec`` is not modified."""

    def select_many(self, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
        """Answer each request separately; by default one after the other."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: SchedulingRequest) -> Outcome:
        try:
            return self.select_destinations(
                request.context,
                request.request_spec,
                request.instance_uuids,
                fences=request.fences,
                return_alternates=request.return_alternates,
                dry_run=request.dry_run,
            )
        except Exception as error:
            return error

    def refresh(self) -> None:  # noqa: B027 - most drivers keep nothing
        """Reload the hosts, if the driver caches them.

        Called every ``[scheduler] periodic_task_interval`` seconds, and after a request failed
        shortly after startup. Raises nothing.
        """


def load_driver(
    conf: cfg.ConfigOpts,
    *,
    host_store: HostStore,
    placement: PlacementAPI,
    rng: random.Random,
    clock: Callable[[], float],
    now: Callable[[], datetime],
) -> SchedulerDriver:
    """Create the driver that ``[scheduler] driver`` names; raise as ``loading.load``."""

    def make(each: type[SchedulerDriver]) -> SchedulerDriver:
        return each(conf, host_store=host_store, placement=placement, rng=rng, clock=clock, now=now)

    (driver,) = loading.load(
        loading.entry_points(NAMESPACE),
        [conf.scheduler.driver],
        SchedulerDriver,  # type: ignore[type-abstract]  # concrete subclasses are created
        make=make,
        option="[scheduler] driver",
    )
    return driver
