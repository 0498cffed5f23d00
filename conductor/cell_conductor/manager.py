"""The cell conductor's manager: its parts, servers and periodic tasks, as a table of contents."""

import logging
import threading
import time

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.db.database_clock import DatabaseClock
from armillary.db.idempotency import IdempotencyRecords
from armillary.metrics import service_metrics
from conductor.cell_conductor import factories
from conductor.cell_conductor.base_task import Environment
from conductor.cell_conductor.endpoints.backports import Backports
from conductor.cell_conductor.endpoints.instance_queries import InstanceQueries
from conductor.cell_conductor.endpoints.started_work import StartedWork
from conductor.cell_conductor.hosts.host_updates import HostUpdates
from conductor.cell_conductor.hosts.isolation_guard import IsolationGuard
from conductor.cell_conductor.interface import CellConductorAPI, HostStatesAPI
from conductor.common.cell_db import instances, models, notify
from conductor.common.clock import Clock
from objects.hosts.host_states import HostStateBatch
from rpc.notifications import SILENT, Notifier
from rpc.server import RpcServer
from rpc.signing.push import CELL_TOPICS, TrustPush
from rpc.transport import Bus

LOG = logging.getLogger(__name__)

SCHEMA = "conductor.common.cell_db.schema"


class HostStatesEndpoint:
    """Requests of schedulers to a cell, on the top broker. See ``HostStatesAPI``."""

    def __init__(self, host_updates: HostUpdates) -> None:
        self._host_updates = host_updates

    def get_host_states(self, context: RequestContext, after_seq: int) -> HostStateBatch:
        return self._host_updates.get(after_seq)


class CellConductorManager:
    """Manager of a cell's database; any number of them share one.

    Raises ConfigurationError when the configuration names no cell.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        cell_bus: Bus,
        database: Database,
        now: Clock | None = None,
        monotonic: Clock = time.monotonic,
        notifier: Notifier = SILENT,
    ) -> None:
        if not conf.cell.uuid:
            raise exception.ConfigurationError(
                reason="[cell] uuid is not set; `armillary-manage cell list` shows it"
            )
        self._conf = conf
        self._top_bus = top_bus
        self._cell_bus = cell_bus
        self._database = database
        self._notifier = notifier
        database.tell(notifier)
        notify.listen_for_state_changes()
        self._stopping = threading.Event()
        self._clock = DatabaseClock(database)
        now = now or self._clock
        self._idempotency = IdempotencyRecords(database, models.IdempotencyRecord, now)
        self._pool = WorkerPool(
            conf.conductor.build_workers, "cell-tasks", conf.conductor.build_queue_size_max
        )
        self._isolation_guard = IsolationGuard(
            self._call_self, down_time_seconds=conf.service_down_time, monotonic=monotonic
        )
        env = Environment(conf, database, now, self._isolation_guard.may_mark_down)
        self._versions = factories.Versions(env, top_bus, monotonic=monotonic)
        self._records = self._versions.records
        clients = factories.Clients(conf, self._versions, top_bus=top_bus, cell_bus=cell_bus)
        self._updates = factories.Updates(env, clients, monotonic=monotonic)
        work = factories.Work(env, clients, self._updates.instances)
        self._recovery = work.recovery
        started = StartedWork(
            self._pool, build=work.build, delete=work.delete, operations=work.operations,
            reports=work.reports,
        )  # fmt: skip
        self._repair = factories.Repair(env, clients, begin=started.begin_operation)
        self._hosts = factories.Hosts(
            env, clients, work.build,
            clear_evacuated=self._repair.operations.clear_host,
            on_version=self._versions.of_agents.forget,
            oldest_services=self._records.get_oldest_services,
        )  # fmt: skip
        self._endpoints = [
            started, InstanceQueries(database, conf.cell.uuid), *work.endpoints,
            *self._hosts.endpoints, self._records, Backports(),
        ]  # fmt: skip
        service_metrics.SERVERS.watch(self, lambda manager: manager.servers_by_state())
        self._trust = TrustPush(cell_bus, CELL_TOPICS, period_seconds=conf.signing.push_seconds)

    def servers_by_state(self) -> dict[tuple[str, ...], float]:
        """Return the number of servers of the cell by state, for the metrics."""
        counts = self._database.read(instances.count_by_state)
        return {(self._conf.cell.uuid, state): float(count) for state, count in counts.items()}

    # Service interface

    def start(self) -> None:
        """Wait for the database.

        Raises ConfigurationError when the schema version is not that of this release, or when a
        service record is older than this release supports.
        """
        if self._database.wait_until_available(self._stopping):
            self._database.check_version(SCHEMA)
            self._clock.read()
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the RPC servers on the cell's and the top broker, not started yet."""
        return [
            self._cell_bus.server(
                CellConductorAPI, self._conf.host, self._endpoints, self._idempotency
            ),
            self._top_bus.server(
                HostStatesAPI, self._conf.cell.uuid, [HostStatesEndpoint(self._updates.hosts)]
            ),
        ]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks; leases and sequence numbers coordinate a cell's conductors."""
        guard = self._isolation_guard
        recovery_seconds = self._conf.conductor.recovery_interval_seconds
        return [
            self._versions.on_top.task(),
            self._clock.task(),
            PeriodicTask("listen", guard.interval_seconds, guard.listen),
            self._trust.task(),
            factories.with_jitter("recover", recovery_seconds, self._recovery.run),
            *self._updates.periodic_tasks(),
            *self._hosts.periodic_tasks(),
            *self._repair.periodic_tasks(),
        ]

    def stop(self, grace_seconds: float) -> None:
        """Finish running tasks; pending tasks are left to recovery."""
        self._stopping.set()
        if not self._pool.shutdown(grace_seconds):
            LOG.info("Unfinished builds and deletes are left to another conductor")
        self._hosts.stop()
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Read service versions again; mutable options are read when they are used."""
        self._versions.of_agents.forget()
        self._versions.on_top.refresh()

    def _call_self(self, timeout_seconds: float) -> None:
        """Call this conductor through the cell's broker.

        Raises ``Unavailable`` without an answer.
        """
        myself = CellConductorAPI(self._cell_bus)
        myself.ping(admin_context(), server=self._conf.host, timeout_seconds=timeout_seconds)
