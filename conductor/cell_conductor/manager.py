"""The cell conductor's manager: it creates the parts and declares servers and periodic tasks."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from oslo_config import cfg

from armillary import exception, service_metrics
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from armillary.periodic import PeriodicTask
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.cell_conductor.builds.reports import Reports
from conductor.cell_conductor.endpoints.agent_endpoints import AgentEndpoints
from conductor.cell_conductor.endpoints.super_conductor_endpoints import SuperConductorEndpoints
from conductor.cell_conductor.hosts.agent_versions import AgentVersions
from conductor.cell_conductor.hosts.host_nodes import HostNodes
from conductor.cell_conductor.hosts.host_services import HostServices
from conductor.cell_conductor.hosts.host_updates import HostUpdates
from conductor.cell_conductor.hosts.instance_updates import InstanceUpdates
from conductor.cell_conductor.hosts.isolation_guard import IsolationGuard
from conductor.cell_conductor.hosts.providers import Providers
from conductor.cell_conductor.interface import CellConductorAPI, HostStatesAPI
from conductor.cell_conductor.operations.engine import Operations
from conductor.cell_conductor.operations.locks_and_consoles import LocksAndConsoles
from conductor.cell_conductor.operations.orphaned_copies import OrphanedCopies
from conductor.cell_conductor.operations.periodic import PeriodicOperations
from conductor.cell_conductor.repair.orphaned_allocations import OrphanedAllocations
from conductor.cell_conductor.repair.purge import Purge
from conductor.common.cell_db import notify
from conductor.common.clock import Clock
from conductor.common.leased_work import Recovery
from conductor.common.service_records import IN_CELL, ServiceRecords
from conductor.common.service_versions import ServiceVersions
from conductor.super_conductor.interface import SuperConductorAPI
from objects.hosts.host_states import HostStateBatch
from placement.interface import PlacementAPI
from rpc.server import RpcServer
from rpc.signing.push import CELL_TOPICS, TrustPush
from rpc.transport import Bus
from rpc.version_caps import ConfiguredCap
from scheduler.interface import SchedulerAPI

LOG = logging.getLogger(__name__)

SCHEMA = "conductor.common.cell_db.schema"


class HostStatesEndpoint:
    """Requests of schedulers to a cell, on the top broker. See ``HostStatesAPI``."""

    def __init__(self, host_updates: HostUpdates) -> None:
        self._host_updates = host_updates

    def get_host_states(self, context: RequestContext, after_seq: int) -> HostStateBatch:
        return self._host_updates.get(after_seq)


class CellConductorManager(SuperConductorEndpoints, AgentEndpoints):
    """Manager of a cell's database; any number of them share one. See ``CellConductorAPI``.

    Raises ConfigurationError when the configuration names no cell.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        cell_bus: Bus,
        database: Database,
        now: Clock = time.time,
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
        self._pool = WorkerPool(
            conf.conductor.build_workers, "cell-tasks", conf.conductor.build_queue_size_max
        )
        self._records = ServiceRecords(
            conf, database=database, interfaces=IN_CELL, now=now, cell_uuid=conf.cell.uuid
        )
        self._agent_versions = AgentVersions(database, monotonic=monotonic)
        self._versions = ServiceVersions(
            conf,
            record_own_heartbeat=self._records.record_own_heartbeat,
            ask=SuperConductorAPI(top_bus).get_oldest_services,
        )
        # A step must know its outcome, or that it stays unknown, before its lease expires.
        patience_seconds = min(conf.rpc.response_timeout_seconds, conf.conductor.lease_seconds)
        placement = PlacementAPI(
            top_bus,
            version_cap=self._versions.cap("placement"),
            timeout_seconds=patience_seconds,
        )
        top = SuperConductorAPI(
            top_bus,
            version_cap=self._versions.cap("conductor"),
            timeout_seconds=patience_seconds,
        )
        scheduler = SchedulerAPI(top_bus, version_cap=self._versions.cap("scheduler"))
        compute = ComputeAPI(
            cell_bus, version_cap=ConfiguredCap(conf, "compute", self._agent_versions.of)
        )
        self._isolation_guard = IsolationGuard(
            self._call_self, down_time_seconds=conf.service_down_time, monotonic=monotonic
        )
        shared: dict[str, Any] = {"database": database, "now": now}
        guarded: dict[str, Any] = {**shared, "may_mark_down": self._isolation_guard.may_mark_down}
        self._build = Build(conf, placement=placement, compute=compute, **guarded)
        self._instance_updates = InstanceUpdates(
            conf, database=database, scheduler=scheduler, monotonic=monotonic
        )
        self._delete = Delete(
            conf,
            placement=placement,
            compute=compute,
            on_gone=self._instance_updates.gone,
            **guarded,
        )
        self._reports = Reports(
            build=self._build, delete=self._delete, cell_uuid=conf.cell.uuid, **shared
        )
        self._operations = Operations(
            conf,
            placement=placement,
            compute=compute,
            top=top,
            on_idle=self._instance_updates.changed,
            **guarded,
        )
        self._recovery = Recovery(
            conf, database=database, works=[self._build, self._delete, self._operations]
        )
        self._purge = Purge(conf, **shared)
        self._timed = PeriodicOperations(
            conf,
            placement=placement,
            compute=compute,
            begin=self._begin_by_itself,
            **shared,
        )
        self._leftover_copies = OrphanedCopies(top=top, **shared)
        self._self_heal = OrphanedAllocations(
            conf,
            database=database,
            placement=placement,
            count=service_metrics.allocations_looked_at,
        )
        self._providers = Providers(conf, placement=placement, **shared)
        self._nodes = HostNodes(providers=self._providers, **shared)
        self._services = HostServices(
            conf,
            providers=self._providers,
            build=self._build,
            clear_evacuated=self._timed.clear_host,
            on_version=self._agent_versions.forget,
            **guarded,
        )
        self._locks_and_consoles = LocksAndConsoles(database=database, compute=compute, now=now)
        self._host_updates = HostUpdates(
            conf, database=database, scheduler=scheduler, monotonic=monotonic
        )
        self._trust = TrustPush(cell_bus, CELL_TOPICS)

    # Service interface

    def start(self) -> None:
        """Wait for the database.

        Raises ConfigurationError when the schema version is not that of this release, or when a
        service record is older than this release supports.
        """
        if self._database.wait_until_available(self._stopping):
            self._database.check_version(SCHEMA)
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the RPC servers on the cell's and the top broker, not started yet."""
        return [
            self._cell_bus.server(CellConductorAPI, self._conf.host, [self]),
            self._top_bus.server(
                HostStatesAPI, self._conf.cell.uuid, [HostStatesEndpoint(self._host_updates)]
            ),
        ]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks; leases and sequence numbers coordinate a cell's conductors."""
        cell, conductor = self._conf.cell, self._conf.conductor
        push = PeriodicTask(
            "push-host-states", cell.host_push_interval_seconds, self._host_updates.push_in_turn
        )
        tasks = {
            "recover": (conductor.recovery_interval_seconds, self._recovery.run),
            "watch-services": (cell.service_watch_interval_seconds, self._services.watch),
            "confirm-providers": (cell.provider_retry_seconds, self._providers.confirm_pending),
            "self-heal": (cell.self_heal_interval_seconds, self._self_heal.heal),
            "timed-operations": (cell.timed_operations_interval_seconds, self._timed.run),
            "leftover-copies": (cell.timed_operations_interval_seconds, self._leftover_copies.drop),
            "purge-deleted": (cell.purge_interval_seconds, self._purge.run),
        }
        tell = PeriodicTask(
            "tell-instances", cell.host_push_interval_seconds, self._instance_updates.push_in_turn
        )
        sync = PeriodicTask(
            "sync-instances",
            self._conf.scheduler.scheduler_instance_sync_interval,
            self._instance_updates.sync,
            initial_delay_seconds=cell.host_push_interval_seconds,
        )
        trust = PeriodicTask("push-trust", self._conf.signing.push_seconds, self._trust.push)
        listen = PeriodicTask(
            "listen", self._isolation_guard.interval_seconds, self._isolation_guard.listen
        )
        return [
            push,
            trust,
            listen,
            self._versions.task(),
            tell,
            sync,
            *(
                PeriodicTask(name, seconds, fn, jitter_seconds=max(0.0, seconds / 4))
                for name, (seconds, fn) in tasks.items()
            ),
        ]

    def stop(self, grace_seconds: float) -> None:
        """Finish running tasks; pending tasks are left to recovery."""
        self._stopping.set()
        if not self._pool.shutdown(grace_seconds):
            LOG.info("Unfinished builds and deletes are left to another conductor")
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Read service versions again; mutable options are read when they are used."""
        self._agent_versions.forget()
        self._versions.refresh()

    def _call_self(self, timeout_seconds: float) -> None:
        """Call this conductor through the cell's broker.

        Raises ``Unavailable`` without an answer.
        """
        myself = CellConductorAPI(self._cell_bus)
        myself.ping(admin_context(), server=self._conf.host, timeout_seconds=timeout_seconds)

    def _begin_by_itself(self, context: RequestContext, instance_uuid: str, operation: str) -> None:
        stored = self._operations.store(context, instance_uuid, operation, {})
        self._begin(self._operations, context, stored.leases)
