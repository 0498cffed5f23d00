"""Repair: comparison of stored records with placement, and correction."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.repair.aggregate_sync import AggregateSync
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from conductor.super_conductor.servers.cell_server_pages import CellServers


class RepairEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, orphans: Orphans, servers: CellServers, aggregates: AggregateSync) -> None:
        self._orphans = orphans
        self._servers = servers
        self._aggregates = aggregates

    def find_orphans(
        self, context: RequestContext, consumers: dict[str, list[str]]
    ) -> dict[str, Any]:
        return self._orphans.find(context, consumers)

    def find_orphan_migrations(
        self, context: RequestContext, consumers: dict[str, list[str]]
    ) -> dict[str, Any]:
        return self._orphans.find_migrations(context, consumers)

    def list_cell_servers(
        self, context: RequestContext, limit: int, marker: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return self._servers.page(context, limit=limit, marker=marker)

    def sync_aggregate(
        self, context: RequestContext, aggregate: str, dry_run: bool
    ) -> dict[str, Any]:
        return self._aggregates.sync(context, aggregate, dry_run=dry_run)
