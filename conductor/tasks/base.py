"""What workflows share: steps, each beside its undo; what ends one early; what they need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from oslo_config import cfg

from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from conductor.cell0 import Cell0
from conductor.cells import Cells
from conductor.handing_over import HandingOver
from conductor.leases import LeaseKeeper, Leases
from conductor.moments import Now
from conductor.scheduling import Scheduling
from conductor.zones.routes import Routes
from placement.rpcapi import PlacementAPI
from scheduler.rpcapi import SchedulerAPI

T = TypeVar("T")

NO_VALID_HOST = "No valid host was found. There are not enough hosts available."
REFUSED = "The request cannot be scheduled with these properties."
TOO_LATE = "The request could not be scheduled in time."

Watch = Callable[[str], None]
"""Called with the name of each step before it is done; tests let steps fail here."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """What the workflows work with; made once by the manager."""

    conf: cfg.ConfigOpts
    database: Database
    cells: Cells
    cell0: Cell0
    zones: Routes
    scheduler: SchedulerAPI
    scheduling: Scheduling
    handing_over: HandingOver
    placement: PlacementAPI
    reservations: Leases
    cleanups: Leases
    keeper: LeaseKeeper
    now: Now
    notifier: Notifier = SILENT


@dataclasses.dataclass(frozen=True)
class Step(Generic[T]):
    """One step of a workflow, and what takes it back; each may be done twice, or not at all."""

    name: str
    do: Callable[[T], None]
    undo: Callable[[T], None] | None = None


class GivenUp(Exception):
    """It cannot be done, now and later: take everything back and say why.

    ``message`` is for the user and names nothing of the infrastructure, ``details`` are for
    administrators.
    """

    def __init__(self, message: str, details: str) -> None:
        super().__init__(details)
        self.message = message
        self.details = details


class LeaseLost(Exception):
    """Somebody else works on it now: stop, and write nothing more."""


def unwatched(_step: str) -> None:
    """Do nothing before a step."""


def run(task: T, steps: Sequence[Step[T]], watch: Watch = unwatched) -> None:
    """Do the steps in their order. An error leaves all as it is: it is resumed, or unwound."""
    for step in steps:
        watch(step.name)
        step.do(task)


def unwind(task: T, steps: Sequence[Step[T]]) -> None:
    """Take back all steps, the last one first, whether they were done or not."""
    for step in reversed(steps):
        if step.undo is not None:
            step.undo(task)
