"""The super conductor: owner of the API database and cell0; what the API and schedulers ask."""

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
from conductor import discovery
from conductor.acceptance import Acceptance
from conductor.aggregate_sync import AggregateSync
from conductor.api_db import models
from conductor.audit_watch import AuditWatch
from conductor.builds import Builds
from conductor.cell0 import Cell0
from conductor.cell_changes import CellChanges
from conductor.cell_servers import CellServers
from conductor.cells import Cells, MakeBus
from conductor.dry_runs import DryRuns
from conductor.endpoints.aggregates import AggregatesEndpoint
from conductor.endpoints.allocations import AllocationsEndpoint
from conductor.endpoints.cell_changes import CellChangesEndpoint
from conductor.endpoints.dry_runs import DryRunsEndpoint
from conductor.endpoints.facts import FactsEndpoint
from conductor.endpoints.flavors import FlavorsEndpoint
from conductor.endpoints.hosts import HostsEndpoint
from conductor.endpoints.images import ImagesEndpoint
from conductor.endpoints.quotas import QuotasEndpoint
from conductor.endpoints.repair import RepairEndpoint
from conductor.endpoints.server_groups import ServerGroupsEndpoint
from conductor.endpoints.server_operations import ServerOperationsEndpoint
from conductor.endpoints.servers import ServersEndpoint
from conductor.endpoints.service_records import ServiceRecordsEndpoint
from conductor.endpoints.zone_border import ZoneBorderEndpoint
from conductor.endpoints.zones import ZonesEndpoint
from conductor.facts import Facts
from conductor.forgetting import Forgetting
from conductor.groups import Groups
from conductor.handing_over import HandingOver
from conductor.hosts import Hosts
from conductor.lacking import Lacking
from conductor.leases import LeaseKeeper, Leases
from conductor.moments import Now
from conductor.orphans import Orphans
from conductor.rebuild_checks import RebuildChecks
from conductor.reclaiming import Reclaiming
from conductor.recovery import Recovery
from conductor.resized_sizes import ResizedSizes
from conductor.rpcapi import SuperConductorAPI
from conductor.scheduling import Scheduling
from conductor.server_operations import ServerOperations
from conductor.servers import Servers
from conductor.service_records import ON_TOP, ServiceRecords
from conductor.service_versions import ServiceVersions
from conductor.tasks import base
from conductor.tasks.base import Parts, Watch
from conductor.tasks.delete import Deletes
from conductor.tasks.move import Moves
from conductor.zone_rpcapi import ZoneAPI
from conductor.zones.border import Border
from conductor.zones.elsewhere import Elsewhere
from conductor.zones.guests import Guests
from conductor.zones.links import ZoneLinks
from conductor.zones.overview import Overview
from conductor.zones.pauses import LOOK_SECONDS
from conductor.zones.questions import Questions
from conductor.zones.routes import Routes
from conductor.zones.settling import Settling
from objects import pci
from objects.cell_mapping import CELL0_UUID
from placement.rpcapi import PlacementAPI
from rpc.server import RpcServer
from rpc.signing.push import TOP_TOPICS, TrustPush
from rpc.transport import Bus
from scheduler.rpcapi import SchedulerAPI

LOG = logging.getLogger(__name__)

API_SCHEMA = "conductor.api_db.schema"
CELL_SCHEMA = "conductor.cell_db.schema"

RECLAIM_SECONDS = 15.0
"""Seconds between two looks for deleted servers whose time is up."""

GONE_IN_ZONES_SECONDS = 60.0
"""Seconds between two looks for servers that their zones have deleted by themselves."""


class SuperConductorManager:
    """One super conductor. Any number of them share the databases and the work.

    ``make_bus`` makes a bus for the transport URL of a cell or a zone; ``watch`` is called before
    each step of a build. ``scheduler`` is one in this process, where that is so configured; else
    those on the top broker are asked.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        top_bus: Bus,
        make_bus: MakeBus,
        api_database: Database,
        cell0_database: Database,
        now: Now = time.time,
        watch: Watch = base.unwatched,
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
            conf, note_me=self._records.note_me, ask=lambda _context: self._records.oldest()
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
        self._resized_sizes = ResizedSizes(api_database, self._cells)
        self._reclaiming = Reclaiming(conf, self._cells, self._deletes.delete, now)
        self._facts = Facts(api_database, self._parts.scheduler, self._parts.placement)
        self._forgetting = Forgetting(conf, api_database, now)
        self._orphans = Orphans(api_database, self._cells, self._parts.cell0)
        self._cell_servers = CellServers(api_database, self._cells)
        self._audit = AuditWatch(
            self._parts.placement,
            self._orphans,
            Lacking(
                cells=self._cells,
                servers=self._cell_servers,
                scheduler=self._parts.scheduler,
                placement=self._parts.placement,
            ),
            now,
        )
        self._trust = TrustPush(top_bus, TOP_TOPICS)
        self._settling = Settling(self._parts, self._deletes.delete)
        self._endpoints = self._make_endpoints(now)

    def start(self) -> None:
        """Wait for the databases.

        Raises ConfigurationError when their tables are not ours, a service in them is too old, or
        [pci] alias makes no sense.
        """
        pci.parse_aliases(self._conf.pci.alias)  # read with each request; bad ones are said now
        for database, schema in (
            (self._database, API_SCHEMA),
            (self._cell0_database, CELL_SCHEMA),
        ):
            if database.wait_until_available(self._stopping):
                database.check_version(schema)
        if not self._stopping.is_set():
            self._records.check_supported()

    def servers(self) -> list[RpcServer]:
        """Return the server of the topic ``conductor``, and of ``zone`` where this is one."""
        servers = [
            self._top_bus.server(
                SuperConductorAPI.TOPIC,
                self._conf.host,
                self._endpoints,
                version=SuperConductorAPI.VERSION,
            )
        ]
        if self._conf.zones.name:
            questions = Questions(self._database, self._cells, self._parts.scheduler)
            servers.append(
                self._top_bus.server(
                    ZoneAPI.TOPIC,
                    self._conf.host,
                    [ZoneBorderEndpoint(self._zones, questions)],
                    version=ZoneAPI.VERSION,
                )
            )
        return servers

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return what is done every so often."""
        conf = self._conf.conductor
        recovery = conf.recovery_interval_seconds
        return [
            self._versions.task(),
            PeriodicTask("renew-leases", conf.lease_seconds / 3, self._parts.keeper.renew_all),
            PeriodicTask("recover-builds", recovery, self._recovery_of_builds().run),
            PeriodicTask("walk-on", LOOK_SECONDS, self._builds.walk_on),
            PeriodicTask("settle-doubts", recovery, self._settling.settle_doubts),
            PeriodicTask("settle-sizes", recovery, self._settling.settle_sizes),
            PeriodicTask("find-gone", GONE_IN_ZONES_SECONDS, self._settling.find_gone),
            PeriodicTask("renew-moves", conf.lease_seconds / 3, self._moves.renew_leases),
            PeriodicTask("reclaim-deleted", RECLAIM_SECONDS, self._reclaiming.run),
            PeriodicTask("settle-resizes", recovery, self._resized_sizes.settle),
            PeriodicTask("recover-moves", recovery, self._recovery_of_moves().run),
            PeriodicTask("recover-deletes", recovery, self._recovery_of_deletes().run),
            PeriodicTask(
                "discover-hosts", conf.discover_hosts_interval_seconds, self.discover_hosts,
                initial_delay_seconds=1.0,
            ),
            PeriodicTask(
                "tell-changes", recovery, self._facts.tell_schedulers_if_changed,
                initial_delay_seconds=0.0,
            ),
            PeriodicTask("repair-facts", conf.facts_interval_seconds, self._facts.repair),
            PeriodicTask("push-trust", self._conf.signing.push_seconds, self._trust.push),
            PeriodicTask("forget-deleted", conf.trace_prune_interval_seconds, self._forgetting.run),
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
        """Let the work in hand end; what does not is given back for another conductor."""
        self._stopping.set()
        if not self._workers.shutdown(grace_seconds):
            self._give_back()
        self._cells.close()
        self._zones.close()
        self._notifier.stop(grace_seconds)

    def reload(self) -> None:
        """Look anew which versions there are; options that may change are read where needed."""
        self._versions.refresh()

    def discover_hosts(self) -> None:
        """Map new hosts, and tell placement where that changes who is in an aggregate."""
        found = discovery.discover_hosts(self._database, self._cells)
        if found.changed_hosts:
            self._facts.aggregates_of_hosts_changed(found.changed_hosts)

    def _purge_cell0(self) -> None:
        count = self._parts.cell0.purge(keep_days=self._conf.cell.instance_keep_deleted_days)
        if count:
            LOG.info("cell0: %d servers that were deleted long ago are removed", count)

    def _give_back(self) -> None:
        try:
            self._parts.keeper.let_go_all()
            self._moves.give_back()
        except exception.DatabaseUnavailable as error:
            LOG.warning("Work in hand is taken up when its leases run out: %s", error)

    def _make_parts(self, now: Now) -> Parts:
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
        return Parts(
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
            handing_over=HandingOver(instances_max=self._conf.conductor.build_batch_size_max),
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

    def _make_endpoints(self, now: Now) -> list[Any]:
        parts, conf, database = self._parts, self._conf, self._database
        elsewhere = Elsewhere(database, self._zones)
        servers = Servers(database, self._cells, parts.cell0, elsewhere)
        acceptance = Acceptance(conf, database, parts.reservations, now=now)
        hosts = Hosts(
            conf, database, self._cells, parts.placement, self._facts, own_records=self._records
        )
        operations = ServerOperations(
            conf, database, self._cells,
            servers=servers, deletes=self._deletes, moves=self._moves, now=now,
            resize_ends=self._resized_sizes.hurry,
            rebuild_check=RebuildChecks(
                database, parts.scheduler, conf.pci.alias, self._notifier
            ).check,
        )  # fmt: skip
        guests = Guests(parts, begin=self._builds.begin, delete=self._deletes.delete)
        self._zones.own = Border(database, guests, servers, operations)
        return [
            ServersEndpoint(
                acceptance, self._builds, self._deletes, servers, operations, elsewhere
            ),
            ServerOperationsEndpoint(operations, self._deletes, elsewhere),
            ZonesEndpoint(Overview(conf, database, parts.scheduler)),
            CellChangesEndpoint(CellChanges(database, self._cells, self._deletes)),
            DryRunsEndpoint(DryRuns(conf, database, self._cells, parts.scheduler)),
            FlavorsEndpoint(database, now),
            ImagesEndpoint(database, now),
            AggregatesEndpoint(database, self._facts, now, self._notifier),
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
            FactsEndpoint(self._facts),
        ]

    def _make_moves(self, now: Now, watch: Watch) -> Moves:
        self._move_leases = Leases(
            models.Move,
            models.Move.migration_uuid,
            owner=f"{self._conf.host}/{os.getpid()}",
            lease_seconds=self._conf.conductor.lease_seconds,
            now=now,
        )
        return Moves(self._parts, self._move_leases, self._workers, watch)

    def _recovery_of_moves(self) -> Recovery:
        return Recovery(
            self._database, self._move_leases, self._moves.resume,
            batch_size_max=self._conf.conductor.recovery_batch_size_max,
        )  # fmt: skip

    def _recovery_of_builds(self) -> Recovery:
        return Recovery(
            self._database, self._parts.reservations, self._builds.resume,
            batch_size_max=self._conf.conductor.recovery_batch_size_max,
        )  # fmt: skip

    def _recovery_of_deletes(self) -> Recovery:
        return Recovery(
            self._database, self._parts.cleanups, self._deletes.clean_up,
            batch_size_max=self._conf.conductor.recovery_batch_size_max,
        )  # fmt: skip
