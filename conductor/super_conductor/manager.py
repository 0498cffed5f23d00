"""The super conductor's manager: owner of the API database and cell0."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.db import Database
from armillary.notifications import SILENT, Notifier
from armillary.periodic import PeriodicTask
from conductor.common import leased_work
from conductor.common.clock import Clock
from conductor.common.leased_work import LeasedWork, Recovery, StepHook
from conductor.common.leases import LeaseKeeper, Leases
from conductor.common.service_records import ON_TOP, ServiceRecords
from conductor.common.service_versions import ServiceVersions
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.dry_runs import DryRuns
from conductor.super_conductor.accept.server_groups import Groups
from conductor.super_conductor.base_task import Dependencies
from conductor.super_conductor.build.build_workers import WALK_POLL_SECONDS, Builds
from conductor.super_conductor.build.cell0 import Cell0
from conductor.super_conductor.build.cell_handover import CellHandover
from conductor.super_conductor.build.scheduling import Scheduling
from conductor.super_conductor.db import models
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.delete.reclaim import Reclaimer
from conductor.super_conductor.delete.retention import Retention
from conductor.super_conductor.endpoints.aggregates import AggregatesEndpoint
from conductor.super_conductor.endpoints.allocations import AllocationsEndpoint
from conductor.super_conductor.endpoints.cell_changes import CellChangesEndpoint
from conductor.super_conductor.endpoints.cluster_metadata import ClusterMetadataEndpoint
from conductor.super_conductor.endpoints.dry_runs import DryRunsEndpoint
from conductor.super_conductor.endpoints.flavors import FlavorsEndpoint
from conductor.super_conductor.endpoints.hosts import HostsEndpoint
from conductor.super_conductor.endpoints.images import ImagesEndpoint
from conductor.super_conductor.endpoints.quotas import QuotasEndpoint
from conductor.super_conductor.endpoints.repair import RepairEndpoint
from conductor.super_conductor.endpoints.server_groups import ServerGroupsEndpoint
from conductor.super_conductor.endpoints.server_operations import ServerOperationsEndpoint
from conductor.super_conductor.endpoints.servers import ServersEndpoint
from conductor.super_conductor.endpoints.service_records import ServiceRecordsEndpoint
from conductor.super_conductor.endpoints.zone import ZoneEndpoint
from conductor.super_conductor.endpoints.zones import ZonesEndpoint
from conductor.super_conductor.hosts import discovery
from conductor.super_conductor.hosts.cells import Cells, MakeBus
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.host_views import Hosts
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.move.cell_relay import CellRelay
from conductor.super_conductor.move.move_task import Moves
from conductor.super_conductor.move.resize_usage import ResizeUsage
from conductor.super_conductor.repair.aggregate_sync import AggregateSync
from conductor.super_conductor.repair.missing_allocations import MissingAllocations
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from conductor.super_conductor.repair.periodic_audit import PeriodicAudit
from conductor.super_conductor.servers.cell_server_pages import CellServers
from conductor.super_conductor.servers.rebuild_checks import RebuildChecks
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.servers.server_views import Servers
from conductor.super_conductor.zones.child_zones import ZoneLinks
from conductor.super_conductor.zones.delegated_builds import DelegatedBuilds
from conductor.super_conductor.zones.interface import ZoneAPI
from conductor.super_conductor.zones.overview import Overview
from conductor.super_conductor.zones.queries import ZoneQueries
from conductor.super_conductor.zones.reconcile import Reconciler
from conductor.super_conductor.zones.remote_servers import RemoteServers
from conductor.super_conductor.zones.routes import Routes
from conductor.super_conductor.zones.zone_endpoint import LocalZone
from objects.cell_mapping import CELL0_UUID
from objects.pci import pci
from placement.interface import PlacementAPI
from rpc.server import RpcServer
from rpc.signing.push import TOP_TOPICS, TrustPush
from rpc.transport import Bus
from scheduler.interface import SchedulerAPI

LOG = logging.getLogger(__name__)

API_SCHEMA = "conductor.super_conductor.db.schema"
CELL_SCHEMA = "conductor.common.cell_db.schema"

RECLAIM_SECONDS = 15.0
"""Seconds between two searches for soft-deleted servers whose retention time has passed."""

GONE_IN_ZONES_SECONDS = 60.0
"""Seconds between two searches for servers that their zones have deleted by themselves."""


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
        now: Clock = time.time,
        watch: StepHook = leased_work.no_hook,
        notifier: Notifier = SILENT,
        scheduler: SchedulerAPI | None = None,
    ) -> None:
        self._conf = conf
        self._scheduler = scheduler
        self._notifier = notifier
        self._top_bus = top_bus
        self._database = api_database
        api_database.tell(notifier)
        self._cell0_database = cell0_database
        self._stopping = threading.Event()
        self._cells = Cells(conf, api_database, make_bus)
        self._zones = Routes(conf, ZoneLinks(conf, api_database, make_bus))
        self._records = ServiceRecords(
            conf, database=cell0_database, interfaces=ON_TOP, now=now, cell_uuid=CELL0_UUID
        )
        self._versions = ServiceVersions(
            conf,
            record_own_heartbeat=self._records.record_own_heartbeat,
            ask=lambda _context: self._records.oldest(),
        )
        self._workers = WorkerPool(
            conf.conductor.build_workers,
            "builds",
            queue_size_max=conf.conductor.build_queue_size_max,
        )
        self._parts = self._make_parts(now)
        self._deletes = Deletes(self._parts)
        self._builds = Builds(self._parts, self._workers, self._deletes.clean_up, watch)
        self._moves = self._make_moves(now, watch)
        self._resize_usage = ResizeUsage(api_database, self._cells)
        self._reclaimer = Reclaimer(conf, self._cells, self._deletes.delete, now)
        self._metadata = MetadataPublisher(
            api_database, self._parts.scheduler, self._parts.placement
        )
        self._retention = Retention(conf, api_database, now)
        self._orphans = Orphans(api_database, self._cells, self._parts.cell0)
        self._cell_servers = CellServers(api_database, self._cells)
        self._audit = PeriodicAudit(
            self._parts.placement,
            self._orphans,
            MissingAllocations(
                cells=self._cells,
                servers=self._cell_servers,
                scheduler=self._parts.scheduler,
                placement=self._parts.placement,
            ),
            now,
        )
        self._trust = TrustPush(top_bus, TOP_TOPICS)
        self._reconciler = Reconciler(self._parts, self._deletes.delete)
        self._endpoints = self._make_endpoints(now)

    def start(self) -> None:
        """Wait for the databases.

        Raises ConfigurationError when a schema version is not that of this release, a service
        record is too old, or [pci] alias is invalid.
        """
        pci.parse_aliases(self._conf.pci.alias)  # read with each request; fail early
        for database, schema in (
            (self._database, API_SCHEMA),
            (self._cell0_database, CELL_SCHEMA),
        ):
            if database.wait_until_available(self._stopping):
                database.check_version(schema)
        if not self._stopping.is_set():
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the RPC servers of the topics ``conductor`` and, if this is a zone, ``zone``."""
        host = self._conf.host
        servers = [self._top_bus.server(SuperConductorAPI, host, self._endpoints)]
        if self._conf.zones.name:
            questions = ZoneQueries(self._database, self._cells, self._parts.scheduler)
            zone = ZoneEndpoint(self._zones, questions)
            servers.append(self._top_bus.server(ZoneAPI, host, [zone]))
        return servers

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks."""
        conf = self._conf.conductor
        recovery = conf.recovery_interval_seconds
        return [
            self._versions.task(),
            PeriodicTask("renew-leases", conf.lease_seconds / 3, self._parts.keeper.renew_all),
            PeriodicTask("recover-builds", recovery, self._recovery_of(self._builds).run),
            PeriodicTask("walk-on", WALK_POLL_SECONDS, self._builds.continue_walks),
            PeriodicTask("settle-doubts", recovery, self._reconciler.reconcile_unknown),
            PeriodicTask("settle-sizes", recovery, self._reconciler.settle_sizes),
            PeriodicTask("find-gone", GONE_IN_ZONES_SECONDS, self._reconciler.reconcile_deleted),
            PeriodicTask("renew-moves", conf.lease_seconds / 3, self._moves.renew_leases),
            PeriodicTask("reclaim-deleted", RECLAIM_SECONDS, self._reclaimer.run),
            PeriodicTask("settle-resizes", recovery, self._resize_usage.settle),
            PeriodicTask("recover-moves", recovery, self._recovery_of(self._moves).run),
            PeriodicTask("recover-deletes", recovery, self._recovery_of(self._deletes).run),
            PeriodicTask(
                "discover-hosts", conf.discover_hosts_interval_seconds, self.discover_hosts,
                initial_delay_seconds=1.0,
            ),
            PeriodicTask(
                "tell-changes", recovery, self._metadata.push_to_schedulers_if_changed,
                initial_delay_seconds=0.0,
            ),
            PeriodicTask("repair-facts", conf.facts_interval_seconds, self._metadata.repair),
            PeriodicTask("push-trust", self._conf.signing.push_seconds, self._trust.push),
            PeriodicTask("forget-deleted", conf.trace_prune_interval_seconds, self._retention.run),
            PeriodicTask(
                "purge-deleted", self._conf.cell.purge_interval_seconds, self._purge_cell0,
                jitter_seconds=max(0.0, self._conf.cell.purge_interval_seconds / 4),
            ),
            PeriodicTask(
                "audit", conf.audit_interval_seconds, self._audit.run,
                initial_delay_seconds=max(0.0, conf.audit_interval_seconds / 4),
                jitter_seconds=max(0.0, conf.audit_interval_seconds / 4),
            ),
        ]  # fmt: skip

    def stop(self, grace_seconds: float) -> None:
        """Finish running work; release the leases of unfinished work for other conductors."""
        self._stopping.set()
        if not self._workers.shutdown(grace_seconds):
            self._give_back()
        self._cells.close()
        self._zones.close()
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Read service versions again; mutable options are read when they are used."""
        self._versions.refresh()

    def discover_hosts(self) -> None:
        """Map new hosts, and update aggregates in placement if their members changed."""
        found = discovery.discover_hosts(self._database, self._cells)
        if found.changed_hosts:
            self._metadata.aggregates_of_hosts_changed(found.changed_hosts)

    def _purge_cell0(self) -> None:
        count = self._parts.cell0.purge(keep_days=self._conf.cell.instance_keep_deleted_days)
        if count:
            LOG.info("cell0: purged deleted servers: %d", count)

    def _give_back(self) -> None:
        try:
            self._parts.keeper.release_all()
            self._moves.give_back()
        except exception.DatabaseUnavailable as error:
            LOG.warning("Cannot release leases, work resumes when they expire: %s", error)

    def _make_parts(self, now: Clock) -> Dependencies:
        owner = f"{self._conf.host}/{os.getpid()}"
        lease = {
            "owner": owner,
            "lease_seconds": self._conf.conductor.lease_seconds,
            "now": now,
        }
        reservations = Leases(models.Reservation, models.Reservation.reservation_id, **lease)
        timeout_seconds = self._conf.rpc.response_timeout_seconds
        scheduler = self._scheduler or SchedulerAPI(
            self._top_bus,
            version_cap=self._versions.cap("scheduler"),
            timeout_seconds=timeout_seconds,
        )
        return Dependencies(
            conf=self._conf,
            database=self._database,
            cells=self._cells,
            cell0=Cell0(self._cell0_database, now),
            zones=self._zones,
            scheduler=scheduler,
            scheduling=Scheduling(
                scheduler,
                messages_max=self._conf.conductor.scheduling_messages_max,
                instances_max=self._conf.conductor.scheduling_batch_size_max,
            ),
            cell_handover=CellHandover(instances_max=self._conf.conductor.build_batch_size_max),
            placement=PlacementAPI(
                self._top_bus,
                version_cap=self._versions.cap("placement"),
                timeout_seconds=timeout_seconds,
            ),
            reservations=reservations,
            cleanups=Leases(models.Cleanup, models.Cleanup.instance_uuid, **lease),
            keeper=LeaseKeeper(self._database, reservations),
            now=now,
            notifier=self._notifier,
        )

    def _make_endpoints(self, now: Clock) -> list[Any]:
        parts, conf, database = self._parts, self._conf, self._database
        remote_servers = RemoteServers(database, self._zones)
        servers = Servers(database, self._cells, parts.cell0, remote_servers)
        acceptance = Acceptance(conf, database, parts.reservations, now=now)
        hosts = Hosts(
            conf, database, self._cells, parts.placement, self._metadata, own_records=self._records
        )
        operations = ServerOperations(
            conf, database, self._cells,
            servers=servers, deletes=self._deletes, moves=self._moves, now=now,
            resize_ends=self._resize_usage.poll_soon,
            rebuild_check=RebuildChecks(
                database, parts.scheduler, conf.pci.alias, self._notifier
            ).check,
        )  # fmt: skip
        guests = DelegatedBuilds(parts, begin=self._builds.begin, delete=self._deletes.delete)
        self._zones.own = LocalZone(database, guests, servers, operations)
        return [
            ServersEndpoint(
                acceptance, self._builds, self._deletes, servers, operations, remote_servers
            ),
            ServerOperationsEndpoint(operations, self._deletes, remote_servers),
            ZonesEndpoint(Overview(conf, database, parts.scheduler)),
            CellChangesEndpoint(CellRelay(database, self._cells, self._deletes)),
            DryRunsEndpoint(DryRuns(conf, database, self._cells, parts.scheduler)),
            FlavorsEndpoint(database, now),
            ImagesEndpoint(database, now),
            AggregatesEndpoint(database, self._metadata, now, self._notifier),
            ServerGroupsEndpoint(Groups(conf, database, now), self._notifier),
            HostsEndpoint(hosts),
            ServiceRecordsEndpoint(self._records),
            QuotasEndpoint(conf, database),
            AllocationsEndpoint(parts.placement),
            RepairEndpoint(
                self._orphans,
                self._cell_servers,
                AggregateSync(database, parts.placement),
            ),
            ClusterMetadataEndpoint(self._metadata),
        ]

    def _make_moves(self, now: Clock, watch: StepHook) -> Moves:
        self._move_leases = Leases(
            models.Move,
            models.Move.migration_uuid,
            owner=f"{self._conf.host}/{os.getpid()}",
            lease_seconds=self._conf.conductor.lease_seconds,
            now=now,
        )
        return Moves(self._parts, self._move_leases, self._workers, watch)

    def _recovery_of(self, work: LeasedWork) -> Recovery:
        return Recovery(self._conf, database=self._database, works=[work])
