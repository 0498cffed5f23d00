"""Factories of the cell conductor's parts, one class per room; the manager calls them in order."""

from collections.abc import Callable
from functools import partial

from oslo_config import cfg

from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext
from armillary.metrics import service_metrics
from armillary.metrics.service_figures import CELL_CONDUCTOR, FigureReporter
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor import servicegroup
from conductor.cell_conductor.base_task import Environment
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.cell_conductor.builds.reports import Reports
from conductor.cell_conductor.hosts.agent_versions import AgentVersions
from conductor.cell_conductor.hosts.host_nodes import HostNodes
from conductor.cell_conductor.hosts.host_services import HostServices
from conductor.cell_conductor.hosts.host_updates import HostUpdates
from conductor.cell_conductor.hosts.image_caching import ImageCaching
from conductor.cell_conductor.hosts.instance_updates import InstanceUpdates
from conductor.cell_conductor.hosts.providers import Providers
from conductor.cell_conductor.operations.engine import Operations
from conductor.cell_conductor.operations.image_tickets import ImageTickets
from conductor.cell_conductor.operations.locks_and_consoles import LocksAndConsoles
from conductor.cell_conductor.operations.orphaned_copies import OrphanedCopies
from conductor.cell_conductor.operations.periodic import Begin, PeriodicOperations
from conductor.cell_conductor.operations.snapshots import Snapshots
from conductor.cell_conductor.repair.orphaned_allocations import OrphanedAllocations
from conductor.cell_conductor.repair.purge import purge
from conductor.common.clock import Clock
from conductor.common.leased_work import Recovery
from conductor.common.service_records import IN_CELL, ServiceRecords
from conductor.common.service_versions import ServiceVersions
from conductor.super_conductor.interface import SuperConductorAPI
from placement.interface import PlacementAPI
from rpc.transport import Bus
from rpc.version_caps import ConfiguredCap
from scheduler.interface import SchedulerAPI


class Versions:
    """Service versions: those in the cell's records, and those on the top broker."""

    def __init__(self, env: Environment, top_bus: Bus, *, monotonic: Clock) -> None:
        self.records = ServiceRecords(
            env.conf, database=env.database, interfaces=IN_CELL, now=env.now,
            cell_uuid=env.conf.cell.uuid, figures=FigureReporter(CELL_CONDUCTOR),
        )  # fmt: skip
        self.of_agents = AgentVersions(env.database, monotonic=monotonic)
        self.on_top = ServiceVersions(
            env.conf,
            record_own_heartbeat=self.records.record_own_heartbeat,
            ask=SuperConductorAPI(top_bus).get_oldest_services,
        )


class Clients:
    """Clients of the services that a cell conductor calls."""

    def __init__(
        self, conf: cfg.ConfigOpts, versions: Versions, *, top_bus: Bus, cell_bus: Bus
    ) -> None:
        # A step must know its outcome, or that it stays unknown, before its lease expires.
        timeout_seconds = min(conf.rpc.response_timeout_seconds, conf.conductor.lease_seconds)
        cap = versions.on_top.cap
        self.placement = PlacementAPI(
            top_bus, version_cap=cap("placement"), timeout_seconds=timeout_seconds
        )
        self.super_conductor = SuperConductorAPI(
            top_bus, version_cap=cap("conductor"), timeout_seconds=timeout_seconds
        )
        self.scheduler = SchedulerAPI(top_bus, version_cap=cap("scheduler"))
        self.compute = ComputeAPI(
            cell_bus, version_cap=ConfiguredCap(conf, "compute", versions.of_agents.of)
        )


class Updates:
    """Host states and instances, pushed to the schedulers."""

    def __init__(self, env: Environment, clients: Clients, *, monotonic: Clock) -> None:
        self._conf = env.conf
        self.hosts = HostUpdates(
            env.conf, database=env.database, scheduler=clients.scheduler, monotonic=monotonic
        )
        self.instances = InstanceUpdates(
            env.conf, database=env.database, scheduler=clients.scheduler, monotonic=monotonic
        )

    def periodic_tasks(self) -> list[PeriodicTask]:
        push_seconds = self._conf.cell.host_push_interval_seconds
        return [
            PeriodicTask("push-host-states", push_seconds, self.hosts.push_in_turn),
            PeriodicTask("push-instances", push_seconds, self.instances.push_in_turn),
            PeriodicTask(
                "sync-instances", self._conf.scheduler.scheduler_instance_sync_interval,
                self.instances.sync, initial_delay_seconds=push_seconds,
            ),
        ]  # fmt: skip


class Work:
    """Builds, deletes and operations, what agents report of them, and their recovery."""

    def __init__(self, env: Environment, clients: Clients, updates: InstanceUpdates) -> None:
        conf, database, now = env.conf, env.database, env.now
        placement, compute = clients.placement, clients.compute
        self.build = Build(env, placement=placement, compute=compute)
        snapshots = Snapshots(str(conf.cell.uuid), clients.super_conductor)
        self.delete = Delete(
            env, placement=placement, compute=compute, on_gone=updates.gone,
            forget_image=snapshots.forget,
        )  # fmt: skip
        self.operations = Operations(
            env, placement=placement, compute=compute, top=clients.super_conductor,
            on_idle=updates.changed,
        )  # fmt: skip
        self.reports = Reports(
            database=database, build=self.build, delete=self.delete, cell_uuid=conf.cell.uuid,
            now=now, on_placed=updates.placed,
        )  # fmt: skip
        self.endpoints = [
            self.reports, self.operations, self.operations.requests, self.operations.answers,
            ImageTickets(env, clients.super_conductor),
            LocksAndConsoles(database=database, compute=compute, now=now),
        ]  # fmt: skip
        self.recovery = Recovery(
            conf, database=database, works=[self.build, self.delete, self.operations]
        )


class Repair:
    """Periodic work on the cell's records: operations that are due, orphans, the purge."""

    def __init__(self, env: Environment, clients: Clients, begin: Begin) -> None:
        conf, database, now = env.conf, env.database, env.now
        self._conf = conf
        self.operations = PeriodicOperations(
            conf, database=database, placement=clients.placement, compute=clients.compute,
            begin=begin, now=now,
        )  # fmt: skip
        self._copies = OrphanedCopies(database=database, top=clients.super_conductor, now=now)
        self._allocations = OrphanedAllocations(
            conf, database=database, placement=clients.placement, top=clients.super_conductor,
            count=service_metrics.allocations_checked,
        )  # fmt: skip
        self._purge = partial(purge, conf, database, now)

    def periodic_tasks(self) -> list[PeriodicTask]:
        cell = self._conf.cell
        timed_seconds = cell.timed_operations_interval_seconds
        return [
            with_jitter("self-heal", cell.self_heal_interval_seconds, self._allocations.heal),
            with_jitter("timed-operations", timed_seconds, self.operations.run),
            with_jitter("leftover-copies", timed_seconds, self._copies.drop),
            with_jitter("purge-deleted", cell.purge_interval_seconds, self._purge),
        ]


class Hosts:
    """The cell's hosts: services, compute nodes, their providers in placement."""

    def __init__(
        self,
        env: Environment,
        clients: Clients,
        build: Build,
        *,
        clear_evacuated: Callable[[str], None],
        on_version: Callable[[], None],
        oldest_services: Callable[[RequestContext], dict[str, int]],
    ) -> None:
        conf, database, now = env.conf, env.database, env.now
        self._conf = conf
        self._providers = Providers(conf, database=database, placement=clients.placement, now=now)
        self._driver = servicegroup.load(conf)
        self._services = HostServices(
            conf, database=database, providers=self._providers, build=build, now=now,
            driver=self._driver, may_mark_down=env.may_mark_down,
            clear_evacuated=clear_evacuated, on_version=on_version,
            oldest_services=oldest_services,
        )  # fmt: skip
        self.endpoints = [
            HostNodes(database=database, providers=self._providers, now=now),
            self._services, self._services.owners, ImageCaching(database, clients.compute),
        ]  # fmt: skip

    def periodic_tasks(self) -> list[PeriodicTask]:
        cell, confirm = self._conf.cell, self._providers.confirm_pending
        return [
            with_jitter(
                "watch-services", cell.service_watch_interval_seconds, self._services.watch
            ),
            with_jitter("confirm-providers", cell.provider_retry_seconds, confirm),
        ]

    def stop(self) -> None:
        self._driver.stop()


def with_jitter(name: str, seconds: float, fn: Callable[[], object]) -> PeriodicTask:
    """Return a periodic task that a cell's conductors should not run at the same moment."""
    return PeriodicTask(name, seconds, fn, jitter_seconds=max(0.0, seconds / 4))
