"""Periodic work of a super conductor besides its workflows: discovery, audits, purges."""

import logging

from armillary.concurrency.periodic import PeriodicTask
from armillary.context import admin_context
from conductor.super_conductor.delete.retention import Reclaimer, Retention
from conductor.super_conductor.hosts import discovery
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.zone_guard import ZoneGuard
from conductor.super_conductor.move.resize_usage import ResizeUsage
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.repair.lost_servers import LostServers
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from conductor.super_conductor.repair.periodic_audit import (
    MIN_AGE,
    PAGE_SIZE,
    MissingAllocations,
    PeriodicAudit,
)
from conductor.super_conductor.repair.unbegun_snapshots import UnbegunSnapshots
from conductor.super_conductor.servers.cell_server_pages import CellServers
from conductor.super_conductor.workflows import Workflows
from conductor.super_conductor.zones.reconcile import Reconciler

LOG = logging.getLogger(__name__)

RECLAIM_SECONDS = 15.0
"""Seconds between two searches for soft-deleted servers whose retention time has passed."""

UNBEGUN_SNAPSHOTS_SECONDS = 60.0
"""Seconds between two searches for images that no operation makes."""

GONE_IN_ZONES_SECONDS = 60.0
"""Seconds between two searches for servers that their zones have deleted by themselves."""


class Housekeeping:
    """The parts of it; endpoints use some of them on demand."""

    def __init__(self, env: Environment, peers: Peers, workflows: Workflows) -> None:
        conf, database, cells, now = env.conf, env.database, peers.cells, env.now
        self._env = env
        self._peers = peers
        self.metadata = MetadataPublisher(database, peers.scheduler, peers.placement)
        self.zone_guard = ZoneGuard(conf, database, cells, now)
        self.cell_servers = CellServers(database, cells)
        self.orphans = Orphans(database, cells, peers.cell0, peers.placement)
        self.resize_usage = ResizeUsage(database, cells)
        self._missing_allocations = MissingAllocations(
            database=database,
            cells=cells,
            servers=self.cell_servers,
            scheduler=peers.scheduler,
            placement=peers.placement,
        )
        self._audit = PeriodicAudit(
            peers.placement, self.orphans, self._missing_allocations, now,
            pages=lambda: self.cell_servers.pages(admin_context(), limit=PAGE_SIZE),
            recheck=self.resize_usage.recheck,
            delete_lost=LostServers(
                database, self.orphans, workflows.deletes.delete, now, min_age=MIN_AGE
            ).delete_all,
        )  # fmt: skip
        self._reclaimer = Reclaimer(conf, database, cells, workflows.deletes.delete, now)
        self._unbegun_snapshots = UnbegunSnapshots(database, cells, now)
        self._reconciler = Reconciler(env, peers, workflows.deletes.delete)
        self._retention = Retention(conf, database, now)
        self._foreign_hosts = discovery.ForeignHosts()

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks."""
        conf = self._env.conf.conductor
        recovery, audit = conf.recovery_interval_seconds, conf.audit_interval_seconds
        purge = self._env.conf.cell.purge_interval_seconds
        reconciler, retention = self._reconciler, self._retention
        return [
            PeriodicTask("reconcile-unknown", recovery, reconciler.reconcile_unknown),
            PeriodicTask("reconcile-sizes", recovery, reconciler.reconcile_sizes),
            PeriodicTask("reconcile-deleted", GONE_IN_ZONES_SECONDS, reconciler.reconcile_deleted),
            PeriodicTask("reclaim-deleted", RECLAIM_SECONDS, self._reclaimer.run),
            PeriodicTask(
                "end-unbegun-snapshots", UNBEGUN_SNAPSHOTS_SECONDS, self._unbegun_snapshots.end_all
            ),
            PeriodicTask("reconcile-resizes", recovery, self.resize_usage.reconcile),
            PeriodicTask(
                "discover-hosts", conf.discover_hosts_interval_seconds, self.discover_hosts,
                initial_delay_seconds=1.0,
            ),
            PeriodicTask(
                "push-metadata", recovery, self.metadata.push_to_schedulers_if_changed,
                initial_delay_seconds=0.0,
            ),
            PeriodicTask("withdraw-zone-changes", recovery, self.zone_guard.withdraw_old),
            PeriodicTask("repair-metadata", conf.metadata_interval_seconds, self.metadata.repair),
            PeriodicTask("remove-expired", conf.trace_prune_interval_seconds, retention.run),
            PeriodicTask(
                "purge-deleted", purge, self._purge_cell0, jitter_seconds=max(0.0, purge / 4)
            ),
            PeriodicTask(
                "audit", audit, self._audit.run,
                initial_delay_seconds=max(0.0, audit / 4), jitter_seconds=max(0.0, audit / 4),
            ),
        ]  # fmt: skip

    def discover_hosts(self) -> None:
        """Map new hosts, and update aggregates in placement if their members changed."""
        found = discovery.discover_hosts(self._env.database, self._peers.cells, self._foreign_hosts)
        if found.left_aggregates:
            self.metadata.aggregates_changed(found.left_aggregates)
        if found.changed_hosts:
            self.metadata.aggregates_of_hosts_changed(found.changed_hosts)

    def _purge_cell0(self) -> None:
        count = self._peers.cell0.purge(keep_days=self._env.conf.cell.instance_keep_deleted_days)
        if count:
            LOG.info("cell0: purged deleted servers: %d", count)
