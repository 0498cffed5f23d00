"""Shared parts of the super conductor's workflows: steps, undo, early ends and dependencies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from oslo_config import cfg

from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from conductor.common.clock import Clock
from conductor.common.leases import LeaseKeeper, Leases
from conductor.super_conductor.build.cell0 import Cell0
from conductor.super_conductor.build.cell_handover import CellHandover
from conductor.super_conductor.build.scheduling import Scheduling
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.zones.routes import Routes
from placement.rpcapi import PlacementAPI
from scheduler.rpcapi import SchedulerAPI

T = TypeVar("T")

NO_VALID_HOST = "No valid host was found. There are not enough hosts available."
REFUSED = "The request cannot be scheduled with these properties."
TOO_LATE = "The request could not be scheduled in time."

StepHook = Callable[[str], None]
"""Called with the name of each step before it runs; tests inject failures here."""


@dataclasses.dataclass(frozen=True)
class Dependencies:
    """Dependencies of the workflows, created once by the manager."""

    conf: cfg.ConfigOpts
    database: Database
    cells: Cells
    cell0: Cell0
    zones: Routes
    scheduler: SchedulerAPI
    scheduling: Scheduling
    cell_handover: CellHandover
    placement: PlacementAPI
    reservations: Leases
    cleanups: Leases
    keeper: LeaseKeeper
    now: Clock
    notifier: Notifier = SILENT


@dataclasses.dataclass(frozen=True)
class Step(Generic[T]):
    """One step of a workflow and its undo. Either may run twice, or not at all."""

    name: str
    do: Callable[[T], None]
    undo: Callable[[T], None] | None = None


class PermanentFailure(Exception):
    """The request cannot succeed, now or later: undo all steps and report why.

    ``message`` is for the user and reveals nothing of the infrastructure. ``details`` are for
    administrators.
    """

    def __init__(self, message: str, details: str) -> None:
        super().__init__(details)
        self.message = message
        self.details = details


class LeaseLost(Exception):
    """Another conductor holds the lease now: stop and write nothing more."""


def no_hook(_step: str) -> None:
    """Do nothing before a step."""


def run(task: T, steps: Sequence[Step[T]], watch: StepHook = no_hook) -> None:
    """Run the steps in order. An error leaves everything as it is, to be resumed or unwound."""
    for step in steps:
        watch(step.name)
        step.do(task)


def unwind(task: T, steps: Sequence[Step[T]]) -> None:
    """Undo all steps in reverse order, whether they ran or not."""
    for step in reversed(steps):
        if step.undo is not None:
            step.undo(task)
