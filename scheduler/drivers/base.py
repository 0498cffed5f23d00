"""What every driver promises, and how the configured one is made."""

from __future__ import annotations

import abc
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from oslo_config import cfg

from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler import plugins
from scheduler.fleet import Fleet
from scheduler.scheduling_request import Outcome, SchedulingRequest

NAMESPACE = "armillary.scheduler.driver"


class SchedulerDriver(abc.ABC):
    """Decides which host an instance goes to. Thread-safe: decisions run side by side."""

    uses_allocation_candidates: ClassVar[bool]
    """Whether it asks placement which hosts fit, and claims there. A driver that does not leaves
    ``Selection.allocation_request`` empty: nobody claims then, neither for an alternate, and no
    allocation is missed. Capacity is guarded by the limits that filters write, on the host."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        fleet: Fleet,
        placement: PlacementAPI,
        dice: random.Random,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        self._conf = conf
        self._fleet = fleet
        self._placement = placement
        self._dice = dice
        self._clock = clock
        self._now = now

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
        """Do what ``SchedulerAPI`` promises; ``request_spec`` is not changed."""

    def select_many(self, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
        """Answer each request on its own; by default one after the other."""
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
        """Look at the hosts anew, where a driver keeps what it has seen of them.

        Called every ``[scheduler] periodic_task_interval`` seconds, and when a request failed
        shortly after a start. Raises nothing.
        """


def load_driver(
    conf: cfg.ConfigOpts,
    *,
    fleet: Fleet,
    placement: PlacementAPI,
    dice: random.Random,
    clock: Callable[[], float],
    now: Callable[[], datetime],
) -> SchedulerDriver:
    """Make the driver that ``[scheduler] driver`` names; raise as ``plugins.load``."""

    def make(each: type[SchedulerDriver]) -> SchedulerDriver:
        return each(conf, fleet=fleet, placement=placement, dice=dice, clock=clock, now=now)

    (driver,) = plugins.load(
        NAMESPACE,
        [conf.scheduler.driver],
        SchedulerDriver,  # type: ignore[type-abstract]  # its subclasses are made
        make=make,
        option="[scheduler] driver",
    )
    return driver
