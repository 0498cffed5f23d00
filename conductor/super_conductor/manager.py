"""The super conductor's manager: owner of the API database and cell0."""

import threading

from oslo_config import cfg

from armillary.concurrency import WorkerPool
from armillary.concurrency.periodic import PeriodicTask
from armillary.db import Database
from armillary.db.database_clock import DatabaseClock
from armillary.db.idempotency import IdempotencyRecords
from armillary.metrics.service_figures import SUPER_CONDUCTOR, FigureReporter
from conductor.common import leased_work
from conductor.common.clock import Clock
from conductor.common.leased_work import StepHook
from conductor.common.service_records import ON_TOP, ServiceRecords
from conductor.common.service_versions import ServiceVersions
from conductor.super_conductor.db import models
from conductor.super_conductor.housekeeping import Housekeeping
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.peers import Environment, make_peers
from conductor.super_conductor.rpc_endpoints import make_endpoints, make_zone_endpoint
from conductor.super_conductor.workflows import Workflows
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.cell_mapping import CELL0_UUID
from objects.pci import pci
from rpc.notifications import SILENT, Notifier
from rpc.server import RpcServer
from rpc.signing.place import zone_scope
from rpc.signing.push import TOP_TOPICS, TrustPush
from rpc.transport import Bus, MakeBus
from scheduler.interface import SchedulerAPI

API_SCHEMA = "conductor.super_conductor.db.schema"
CELL_SCHEMA = "conductor.common.cell_db.schema"


class SuperConductorManager:
    """A super conductor. Any number of them share the databases and the work.

    ``make_bus`` makes a bus from the transport URL of a cell or zone; ``watch`` is called before
    each step of a build. ``scheduler`` is one in this process, if it is configured so; otherwise
    requests go to the schedulers on the top broker.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        make_bus: MakeBus,
        api_database: Database,
        cell0_database: Database,
        now: Clock | None = None,
        watch: StepHook = leased_work.no_hook,
        notifier: Notifier = SILENT,
        scheduler: SchedulerAPI | None = None,
    ) -> None:
        self._conf = conf
        self._notifier = notifier
        self._top_bus = top_bus
        self._database = api_database
        api_database.tell(notifier)
        self._cell0_database = cell0_database
        self._stopping = threading.Event()
        self._clock = DatabaseClock(api_database)
        now = now or self._clock
        self._records = ServiceRecords(
            conf, database=cell0_database, interfaces=ON_TOP, now=now, cell_uuid=CELL0_UUID,
            figures=FigureReporter(SUPER_CONDUCTOR),
        )  # fmt: skip
        self._versions = ServiceVersions(
            conf,
            record_own_heartbeat=self._records.record_own_heartbeat,
            ask=lambda _context: self._records.oldest(),
        )
        self._env = Environment(conf, api_database, now, notifier)
        self._peers = make_peers(
            self._env,
            top_bus=top_bus,
            make_bus=make_bus,
            cell0_database=cell0_database,
            versions=self._versions,
            scheduler=scheduler,
        )
        workers = WorkerPool(
            conf.conductor.build_workers,
            "builds",
            queue_size_max=conf.conductor.build_queue_size_max,
        )
        self._workflows = Workflows(self._env, self._peers, workers, watch)
        self._housekeeping = Housekeeping(self._env, self._peers, self._workflows)
        self._trust = TrustPush(top_bus, TOP_TOPICS, period_seconds=conf.signing.push_seconds)
        self._idempotency = IdempotencyRecords(api_database, models.IdempotencyRecord, now)
        self._endpoints = make_endpoints(
            self._env, self._peers, self._workflows, self._housekeeping, self._records,
            self._idempotency, cell0_database=cell0_database,
        )  # fmt: skip

    def start(self) -> None:
        """Wait for the databases.

        Raises ConfigurationError when a schema version is not that of this release, a service
        record is too old, or [pci] alias is invalid.
        """
        pci.parse_aliases(self._conf.pci.alias)  # read with each request; fail early
        for database, schema in ((self._database, API_SCHEMA), (self._cell0_database, CELL_SCHEMA)):
            if database.wait_until_available(self._stopping):
                database.check_version(schema)
        if not self._stopping.is_set():
            self._clock.read()
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the RPC servers of the topics ``conductor`` and, if this is a zone, ``zone``."""
        host = self._conf.host
        servers = [
            self._top_bus.server(SuperConductorAPI, host, self._endpoints, self._idempotency)
        ]
        if self._conf.zones.name:
            zone = make_zone_endpoint(self._env, self._peers)
            zone_bus = self._top_bus.with_scope(zone_scope(self._conf.zones.name))
            servers.append(zone_bus.server(ZoneAPI, host, [zone], self._idempotency))
        return servers

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks."""
        return [
            self._versions.task(),
            self._clock.task(),
            self._trust.task(),
            *self._workflows.periodic_tasks(),
            *self._housekeeping.periodic_tasks(),
        ]

    def stop(self, grace_seconds: float) -> None:
        """Finish running work; release the leases of unfinished work for other conductors."""
        self._stopping.set()
        self._workflows.stop(grace_seconds)
        self._peers.cells.close()
        self._peers.zones.close()
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Read service versions again; mutable options are read when they are used."""
        self._versions.refresh()
