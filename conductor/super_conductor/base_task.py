"""Shared parts of the super conductor's tasks: dependencies, and the end without success."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from conductor.common.clock import Clock
from conductor.super_conductor.build.cell0 import Cell0
from conductor.super_conductor.build.scheduling import Scheduling
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.zones.routes import Routes
from placement.interface import PlacementAPI
from scheduler.interface import SchedulerAPI

NO_VALID_HOST = "No valid host was found. There are not enough hosts available."
REFUSED = "The request cannot be scheduled with these properties."
TOO_LATE = "The request could not be scheduled in time."


@dataclasses.dataclass(frozen=True)
class Environment:
    """Configuration, API database, clock and notifications of this process."""

    conf: cfg.ConfigOpts
    database: Database
    now: Clock
    notifier: Notifier = SILENT


@dataclasses.dataclass(frozen=True)
class Peers:
    """The services that workflows call; ``scheduling`` calls the scheduler in batches."""

    cells: Cells
    cell0: Cell0
    zones: Routes
    scheduler: SchedulerAPI
    scheduling: Scheduling
    placement: PlacementAPI


class PermanentFailure(Exception):
    """The request cannot succeed, now or later: undo all steps and report why.

    ``message`` is for the user and reveals nothing of the infrastructure. ``details`` are for
    administrators.
    """

    def __init__(self, message: str, details: str) -> None:
        super().__init__(details)
        self.message = message
        self.details = details
