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

NAMESPACE = "armillary.scheduler.driver"


class SchedulerDriver(abc.ABC):
    """Decides which host an instance goes to. Thread-safe: decisions run side by side."""

    uses_allocation_candidates: ClassVar[bool]
    """Whether it asks placement which hosts fit, and claims there."""

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
