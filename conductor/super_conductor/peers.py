"""Environment of a super conductor's parts, and clients of the services that it calls."""

import dataclasses

from oslo_config import cfg

from armillary.db import Database
from conductor.common.clock import Clock
from conductor.common.service_versions import ServiceVersions
from conductor.super_conductor.builds.cell0 import Cell0
from conductor.super_conductor.builds.scheduling import Scheduling
from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.zones.child_zones import ZoneLinks
from conductor.super_conductor.zones.routes import Routes
from placement.interface import PlacementAPI
from rpc.notifications import SILENT, Notifier
from rpc.transport import Bus, MakeBus
from scheduler.interface import SchedulerAPI


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


def make_peers(
    env: Environment,
    *,
    top_bus: Bus,
    make_bus: MakeBus,
    cell0_database: Database,
    versions: ServiceVersions,
    scheduler: SchedulerAPI | None,
) -> Peers:
    """Return the clients; ``scheduler`` is one in this process, if there is one."""
    conf, database = env.conf, env.database
    timeout_seconds = conf.rpc.response_timeout_seconds
    scheduler = scheduler or SchedulerAPI(
        top_bus, version_cap=versions.cap("scheduler"), timeout_seconds=timeout_seconds
    )
    return Peers(
        cells=Cells(
            conf,
            database,
            make_bus,
            enrolments=(
                CellEnrolments()
                if top_bus.message_signer is None
                else CellEnrolments(
                    top_bus.message_signer.trusted, is_required=top_bus.message_signer.is_required
                )
            ),
        ),
        cell0=Cell0(cell0_database, env.now),
        zones=Routes(conf, ZoneLinks(conf, database, make_bus)),
        scheduler=scheduler,
        scheduling=Scheduling(
            scheduler,
            messages_max=conf.conductor.scheduling_messages_max,
            instances_max=conf.conductor.scheduling_batch_size_max,
        ),
        placement=PlacementAPI(
            top_bus, version_cap=versions.cap("placement"), timeout_seconds=timeout_seconds
        ),
    )
