"""The cell conductor: its parts, and its endpoints, which unpack, call one thing, and pack."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from oslo_config import cfg

import rpc
from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from armillary.periodic import PeriodicTask
from compute_agent.rpcapi import ComputeAPI
from conductor.agent_versions import AgentVersions
from conductor.cell_db import (
    actions,
    compute_nodes,
    faults,
    instances,
    migrations,
    services,
    telling,
)
from conductor.cell_rpcapi import CellConductorAPI, HostStatesAPI
from conductor.cell_tasks.base import Task
from conductor.cell_tasks.build import Build
from conductor.cell_tasks.delete import Delete
from conductor.cell_tasks.operations.engine import Operations
from conductor.cell_tasks.operations.leftover_copies import LeftoverCopies
from conductor.cell_tasks.operations.rows import as_stored
from conductor.cell_tasks.operations.timed import Timed
from conductor.cell_tasks.recovery import Recovery
from conductor.cell_tasks.reports import ACCEPTED, BuiltReport, Reports
from conductor.cell_tasks.self_heal import SelfHeal
from conductor.hearing import Hearing
from conductor.host_nodes import HostNodes
from conductor.host_services import HostServices
from conductor.host_updates import HostUpdates
from conductor.instance_updates import InstanceUpdates
from conductor.instances_at_rest import InstancesAtRest
from conductor.leases import Lease
from conductor.moments import Now
from conductor.object_actions import ObjectActions
from conductor.providers import Providers
from conductor.rpcapi import SuperConductorAPI
from conductor.service_records import IN_CELL, ServiceRecords
from conductor.service_versions import ServiceVersions
from objects.build_request import BuildRequest
from objects.compute_node import ComputeNode
from objects.host_states import HostStateBatch
from objects.instance import Instance
from objects.instance_action import InstanceAction
from objects.instance_fault import InstanceFault
from objects.instance_order import InstanceOrder
from objects.migration import Migration
from objects.server_record import ServerRecord
from objects.service import Service
from placement.rpcapi import PlacementAPI
from rpc.server import RpcServer
from rpc.signing.push import CELL_TOPICS, TrustPush
from rpc.transport import Bus
from rpc.version_caps import ConfiguredCap
from scheduler.rpcapi import SchedulerAPI

LOG = logging.getLogger(__name__)

SCHEMA = "conductor.cell_db.schema"

_expected = rpc.expected_exceptions(exception.ArmillaryError)


class HostStatesEndpoint:
    """What schedulers ask of a cell, on the top broker. See ``HostStatesAPI``."""

    def __init__(self, host_updates: HostUpdates) -> None:
        self._host_updates = host_updates

    @rpc.expose
    @_expected
    def get_host_states(self, context: RequestContext, after_seq: int) -> HostStateBatch:
        return self._host_updates.get(after_seq)


class CellConductorManager:
    """Owner of a cell's database; any number of them on one. See ``CellConductorAPI``.

    Raises ConfigurationError when the configuration names no cell.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        cell_bus: Bus,
        database: Database,
        now: Now = time.time,
        monotonic: Now = time.monotonic,
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
        telling.watch_states()
        self._stopping = threading.Event()
        self._pool = WorkerPool(
            conf.conductor.build_workers, "cell-tasks", conf.conductor.build_queue_size_max
        )
        self._records = ServiceRecords(
            conf, database=database, interfaces=IN_CELL, now=now, cell_uuid=conf.cell.uuid
        )
        self._agent_versions = AgentVersions(database, monotonic=monotonic)
        self._versions = ServiceVersions(
            conf, note_me=self._records.note_me, ask=SuperConductorAPI(top_bus).get_oldest_services
        )
        # A step must know its outcome, or that it never will, before its lease runs out.
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
        self._hearing = Hearing(
            self._call_myself, down_time_seconds=conf.service_down_time, monotonic=monotonic
        )
        shared: dict[str, Any] = {"database": database, "now": now}
        judging: dict[str, Any] = {**shared, "may_convict": self._hearing.may_convict}
        self._build = Build(conf, placement=placement, compute=compute, **judging)
        self._instance_updates = InstanceUpdates(
            conf, database=database, scheduler=scheduler, monotonic=monotonic
        )
        self._delete = Delete(
            conf,
            placement=placement,
            compute=compute,
            on_gone=self._instance_updates.gone,
            **judging,
        )
        self._reports = Reports(
            build=self._build, delete=self._delete, cell_uuid=conf.cell.uuid, **shared
        )
        self._operations = Operations(
            conf,
            placement=placement,
            compute=compute,
            top=top,
            on_rest=self._instance_updates.changed,
            **judging,
        )
        self._recovery = Recovery(
            conf, tasks=[self._build, self._delete, self._operations], **shared
        )
        self._timed = Timed(
            conf,
            placement=placement,
            compute=compute,
            begin=self._begin_by_itself,
            **shared,
        )
        self._leftover_copies = LeftoverCopies(top=top, **shared)
        self._self_heal = SelfHeal(conf, database=database, placement=placement)
        self._providers = Providers(conf, placement=placement, **shared)
        self._nodes = HostNodes(providers=self._providers, **shared)
        self._services = HostServices(
            conf,
            providers=self._providers,
            build=self._build,
            clear_evacuated=self._timed.clear_host,
            on_version=self._agent_versions.forget,
            **judging,
        )
        self._at_rest = InstancesAtRest(database=database, compute=compute, now=now)
        self._objects = ObjectActions(cell_uuid=conf.cell.uuid, **shared)
        self._host_updates = HostUpdates(
            conf, database=database, scheduler=scheduler, monotonic=monotonic
        )
        self._trust = TrustPush(cell_bus, CELL_TOPICS)

    # What a service runs

    def start(self) -> None:
        """Wait for the database.

        Raises ConfigurationError when its tables are not those of this release, or a service in
        them is of one that is too old.
        """
        if self._database.wait_until_available(self._stopping):
            self._database.check_version(SCHEMA)
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the servers on the cell's and on the top broker, not yet started."""
        return [
            self._cell_bus.server(
                CellConductorAPI.TOPIC, self._conf.host, [self], version=CellConductorAPI.VERSION
            ),
            self._top_bus.server(
                HostStatesAPI.TOPIC,
                self._conf.cell.uuid,
                [HostStatesEndpoint(self._host_updates)],
                version=HostStatesAPI.VERSION,
            ),
        ]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return what every conductor of a cell does; leases and numbers keep them apart."""
        cell, conductor = self._conf.cell, self._conf.conductor
        push = PeriodicTask(
            "push-host-states", cell.host_push_interval_seconds, self._host_updates.push_in_turn
        )
        tasks = {
            "recover": (conductor.recovery_interval_seconds, self._recovery.take_up),
            "watch-services": (cell.service_watch_interval_seconds, self._services.watch),
            "confirm-providers": (cell.provider_retry_seconds, self._providers.confirm_pending),
            "self-heal": (cell.self_heal_interval_seconds, self._self_heal.heal),
            "timed-operations": (cell.timed_operations_interval_seconds, self._timed.run),
            "leftover-copies": (cell.timed_operations_interval_seconds, self._leftover_copies.drop),
            "purge-deleted": (cell.purge_interval_seconds, self._recovery.purge),
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
        listen = PeriodicTask("listen", self._hearing.interval_seconds, self._hearing.listen)
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
        """Finish what is in hand; what is not begun is left to recovery."""
        self._stopping.set()
        if not self._pool.shutdown(grace_seconds):
            LOG.info("Builds and deletes still in hand are left to another conductor")
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Look anew which versions there are; options that may change are read when needed."""
        self._agent_versions.forget()
        self._versions.refresh()

    def _call_myself(self, timeout_seconds: float) -> None:
        """Raise ``Unavailable`` unless a call of mine comes back through the cell's broker."""
        myself = CellConductorAPI(self._cell_bus)
        myself.ping(admin_context(), server=self._conf.host, timeout_seconds=timeout_seconds)

    def _begin(self, task: Task[Any], context: RequestContext, leases: Sequence[Lease]) -> None:
        """Go on after the answer, or, when there is no room for it, leave it to recovery."""
        self._submit(task, partial(task.run, context, leases), leases)

    def _submit(self, task: Task[Any], work: Callable[[], None], leases: Sequence[Lease]) -> None:
        if not leases:
            return
        try:
            self._pool.submit(work)
        except (WorkerPoolFull, RuntimeError) as error:
            LOG.info("%d works are left to recovery: %s", len(leases), error)
            task.put_off(leases)

    def _begin_by_itself(self, context: RequestContext, instance_uuid: str, operation: str) -> None:
        stored = self._operations.store(context, instance_uuid, operation, {})
        self._begin(self._operations, context, stored.leases)

    # From the super conductor

    @rpc.expose
    @_expected
    def build_instances(
        self, context: RequestContext, build_requests: Sequence[BuildRequest]
    ) -> None:
        leases = self._build.store(context, build_requests)
        begin = partial(self._build.begin, context, build_requests, leases)
        self._submit(self._build, begin, leases)

    @rpc.expose
    @_expected
    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        with self._database.reader() as session:
            return instances.get(session, instance_uuid, cell_uuid=self._conf.cell.uuid)

    @rpc.expose
    @_expected
    def list_instances(
        self,
        context: RequestContext,
        filters: dict[str, Any],
        limit: int,
        marker: dict[str, str] | None = None,
    ) -> list[Instance]:
        with self._database.reader() as session:
            return instances.list_page(
                session, filters=filters, limit=limit, marker=marker,
                cell_uuid=self._conf.cell.uuid,
            )  # fmt: skip

    @rpc.expose
    @_expected
    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        self._begin(self._delete, context, self._delete.store(context, instance_uuid))

    @rpc.expose
    @_expected
    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        with self._database.reader() as session:
            return actions.list_of(session, instance_uuid)

    @rpc.expose
    @_expected
    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        with self._database.reader() as session:
            return faults.list_of(session, instance_uuid)

    @rpc.expose
    @_expected
    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        with self._database.reader() as session:
            return migrations.living(session, migration_uuids)

    @rpc.expose
    @_expected
    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        with self._database.reader() as session:
            return instances.hosts_of(session, instance_uuids)

    @rpc.expose
    @_expected
    def list_services(self, context: RequestContext) -> list[Service]:
        return self._services.list_all()

    @rpc.expose
    @_expected
    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        return self._records.oldest_lately()

    @rpc.expose
    @_expected
    def list_hosts_before(self, context: RequestContext, service_version: int) -> list[str]:
        return self._services.list_hosts_before(service_version)

    @rpc.expose
    @_expected
    def update_service(
        self, context: RequestContext, service_uuid: str, values: dict[str, Any]
    ) -> Service:
        return self._services.update(context, service_uuid, values)

    @rpc.expose
    @_expected
    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        return self._services.delete(context, service_uuid)

    @rpc.expose
    @_expected
    def list_compute_nodes(self, context: RequestContext) -> list[ComputeNode]:
        with self._database.reader() as session:
            return compute_nodes.list_all(session, cell_uuid=self._conf.cell.uuid)

    @rpc.expose
    @_expected
    def begin_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: dict[str, Any],
    ) -> int:
        stored = self._operations.store(context, instance_uuid, operation, as_stored(arguments))
        self._begin(self._operations, context, stored.leases)
        return stored.fence

    @rpc.expose
    @_expected
    def go_on_with_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        facts: dict[str, Any],
    ) -> None:
        leases = self._operations.go_on(instance_uuid, migration_uuid, as_stored(facts))
        self._begin(self._operations, context, leases)

    @rpc.expose
    @_expected
    def fail_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        fault: InstanceFault,
    ) -> None:
        leases = self._operations.fail(instance_uuid, migration_uuid, fault)
        self._begin(self._operations, context, leases)

    @rpc.expose
    @_expected
    def set_lock(
        self, context: RequestContext, instance_uuid: str, locked: bool, reason: str | None
    ) -> None:
        self._at_rest.set_lock(context, instance_uuid, locked=locked, reason=reason)

    @rpc.expose
    @_expected
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        self._operations.abort(context, instance_uuid, migration_uuid)

    @rpc.expose
    @_expected
    def list_migrations(
        self, context: RequestContext, filters: dict[str, Any], limit: int
    ) -> list[Migration]:
        with self._database.reader() as session:
            return migrations.list_page(
                session, filters=filters, limit=limit, cell_uuid=self._conf.cell.uuid
            )

    @rpc.expose
    @_expected
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, lines: int | None
    ) -> str:
        return self._at_rest.console(context, instance_uuid, lines=lines)

    # From the super conductor, for another cell

    @rpc.expose
    @_expected
    def order_for_other_cell(
        self, context: RequestContext, record: ServerRecord, order: InstanceOrder
    ) -> str | None:
        return self._operations.tell_for_other_cell(context, record, order)

    @rpc.expose
    @_expected
    def order_answered_elsewhere(
        self,
        context: RequestContext,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
        answer: dict[str, Any],
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answered_elsewhere(
            host, instance_uuid, migration_uuid, sequence, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    @rpc.expose
    @_expected
    def is_order_wanted_elsewhere(
        self,
        context: RequestContext,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
    ) -> bool:
        return self._operations.is_wanted_elsewhere(host, instance_uuid, migration_uuid, sequence)

    @rpc.expose
    @_expected
    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        self._operations.take_over(record)

    @rpc.expose
    @_expected
    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        self._operations.drop_copy(instance_uuid, migration_uuid)

    def _builds_succeeded(self, agent: str, reports: Sequence[BuiltReport]) -> list[str]:
        answers = self._reports.builds_succeeded(agent, reports)
        for report, answer in zip(reports, answers, strict=True):
            if answer == ACCEPTED:
                self._instance_updates.placed(report.host, report.instance_uuid)
        return answers

    # From compute agents

    @rpc.expose
    @_expected
    def order_answered(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        answer: dict[str, Any],
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answered(
            agent, host, instance_uuid, sequence, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    @rpc.expose
    @_expected
    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        self._operations.progressed(
            agent, host, instance_uuid, sequence, total_mb=total_mb, remaining_mb=remaining_mb
        )

    @rpc.expose
    @_expected
    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        return self._reports.is_build_wanted(agent, host, instance_uuid, attempt)

    @rpc.expose
    @_expected
    def is_order_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, sequence: int
    ) -> bool:
        return self._operations.is_wanted(agent, host, instance_uuid, sequence)

    @rpc.expose
    @_expected
    def list_moving(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        return self._reports.list_moving(agent, hosts)

    @rpc.expose
    @_expected
    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        service_version: int,
    ) -> dict[str, int]:
        self._services.report(agent, hosts, builds, version=service_version)
        return self._records.oldest_lately()

    @rpc.expose
    @_expected
    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        reshape: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        return self._nodes.report(context, agent, nodes, reshape)

    @rpc.expose
    @_expected
    def build_succeeded(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        power_state: str,
    ) -> str:
        report = BuiltReport(host, instance_uuid, attempt, power_state)
        return self._builds_succeeded(agent, [report])[0]

    @rpc.expose
    @_expected
    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[dict[str, Any]]
    ) -> list[str]:
        return self._builds_succeeded(agent, [BuiltReport(**each) for each in built])

    @rpc.expose
    @_expected
    def build_failed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        fault: InstanceFault,
        retry: bool,
    ) -> str:
        answer, leases = self._reports.build_failed(
            agent, host, instance_uuid, attempt, fault=fault, retry=retry
        )
        self._begin(self._build, context, leases)
        return answer

    @rpc.expose
    @_expected
    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        answer, leases = self._reports.instance_deleted(agent, host, instance_uuid)
        self._begin(self._delete, context, leases)
        return answer

    @rpc.expose
    @_expected
    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        exit_code: int | None,
    ) -> str:
        return self._reports.instance_ended(
            agent, host, instance_uuid, attempt, exit_code=exit_code
        )

    @rpc.expose
    @_expected
    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        return self._reports.list_host_instances(agent, hosts)

    @rpc.expose
    @_expected
    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        with self._database.reader() as session:
            if not services.has_agent(session, agent):
                raise exception.Forbidden(reason=f"agent {agent} carries no host of this cell")
            return instances.hosts_of_group(session, group_uuid)

    # Objects

    @rpc.expose
    @_expected
    def object_action(
        self,
        context: RequestContext,
        agent: str,
        objinst: Any,
        objmethod: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> tuple[dict[str, Any], Any]:
        return self._objects.run(context, agent, objinst, objmethod, args, kwargs)

    @rpc.expose
    @_expected
    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> dict[str, Any]:
        return self._objects.backport(objinst, object_versions)
