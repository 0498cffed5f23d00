"""RPC endpoint of placement: unpacks a call, calls the engine, packs the result."""

import threading
from collections.abc import Sequence

from oslo_config import cfg

from armillary.concurrency.periodic import PeriodicTask
from armillary.context import RequestContext
from armillary.db import Database
from armillary.metrics import service_metrics
from objects.allocations.allocation import (
    ClaimStatus,
    ConsumerHolding,
    ProviderAllocation,
    UsageTotals,
)
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.claims.pool import Pool
from objects.hosts.fleet import FleetUsage
from objects.hosts.host_details import ProviderDetails
from objects.hosts.provider_report import ProviderReport, ProviderResult
from objects.instances.group_claim import GroupMember
from objects.packed.claim_batch import ClaimAnswers, ClaimBatch
from objects.packed.provider_uuids import ProviderUUIDs
from objects.traces.explanation import CandidatesExplanation
from objects.zones.zone_summary import ProviderCapabilities
from placement import claim_log
from placement.db.preparation import prepare
from placement.engine import PlacementEngine
from placement.interface import PlacementAPI
from placement.ownership import CELL_CONDUCTOR, CellWriter
from rpc.server import RpcServer
from rpc.transport import Bus

PRUNE_JITTER_SECONDS = 60.0


class PlacementManager:
    """Serve placement on the top broker; any number of processes can share one database.

    ``PlacementAPI`` documents its methods.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, top_bus: Bus, database: Database) -> None:
        self._conf = conf
        self._top_bus = top_bus
        self._database = database
        self._stopping = threading.Event()
        self.engine = PlacementEngine(conf, database)
        service_metrics.CAPACITY.watch(self.engine, lambda engine: _totals(engine, "capacity"))
        service_metrics.USED.watch(self.engine, lambda engine: _totals(engine, "used"))

    def start(self) -> None:
        """Wait for the database, and prepare it; the provider table is loaded on first use.

        Raises ConfigurationError if the schema version of the database is not that of this release.
        """
        if self._database.wait_until_available(self._stopping):
            prepare(self._conf, self._database)

    def servers(self) -> list[RpcServer]:
        """Return the server of this process, not yet started."""
        return [
            self._top_bus.server(PlacementAPI, self._conf.host, [self], self.engine.idempotency)
        ]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the pruning task."""
        interval = self._conf.placement.prune_interval_seconds
        prune = self.engine.pruner.prune
        return [
            PeriodicTask("prune-placement", interval, prune, jitter_seconds=PRUNE_JITTER_SECONDS)
        ]

    def stop(self, grace_seconds: float) -> None:
        """Stop waiting for the database; calls in progress end by themselves."""
        self._stopping.set()

    def reload(self) -> None:
        """Do nothing: mutable options are read when needed."""

    def get_candidates(
        self, context: RequestContext, query: ResourceQuery, by_id: bool
    ) -> AllocationCandidates:
        return self.engine.get_candidates(query, by_id=by_id)

    def explain_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> CandidatesExplanation:
        return self.engine.explain(query)

    def get_summary(
        self, context: RequestContext, excluded: Sequence[str], without_traits: Sequence[str]
    ) -> ProviderCapabilities:
        return self.engine.get_summary(excluded, without_traits)

    def list_pools(self, context: RequestContext, trait: str) -> list[Pool]:
        return self.engine.pools.list(trait)

    def get_provider_uuids(
        self, context: RequestContext, providers: ProviderUUIDs
    ) -> ProviderUUIDs:
        return self.engine.get_provider_uuids(providers.ids)

    def claim_batch(self, context: RequestContext, batch: ClaimBatch) -> ClaimAnswers:
        writer, claims = self._writer(context), batch.unpacked()
        results = self.engine.claims.claim(claims, writer)
        claim_log.log_claims(claims, results)
        for result in results if writer is not None else ():
            if result.status == ClaimStatus.FOREIGN:
                context.refused_parts.append(str(result.reason))
        return ClaimAnswers.of(results)

    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        self.engine.claims.release(consumers, self._writer(context))

    def move_allocations(
        self,
        context: RequestContext,
        source: str,
        target: str,
        fence: int,
        replace: bool = False,
        consumer_type: str | None = None,
    ) -> None:
        self.engine.claims.move(
            source, target, fence, is_replacing=replace, consumer_type=consumer_type,
            writer=self._writer(context),
        )  # fmt: skip

    def list_group_members(self, context: RequestContext, group_uuid: str) -> list[GroupMember]:
        return self.engine.allocations.list_group_members(group_uuid)

    def set_consumer_cells(
        self, context: RequestContext, consumers: Sequence[str], cells: Sequence[str]
    ) -> None:
        self.engine.claims.set_cells(consumers, cells)

    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        return self.engine.allocations.get(consumers, self._writer(context))

    def get_provider_allocations(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, ConsumerHolding]]:
        return self.engine.allocations.get_of_providers(providers, self._writer(context))

    def release_unchanged(self, context: RequestContext, consumers: dict[str, int]) -> list[str]:
        return self.engine.claims.release_unchanged(consumers, self._writer(context))

    def list_allocations(
        self, context: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> list[ProviderAllocation]:
        return self.engine.allocations.list(marker=marker, limit=limit)

    def get_usage_totals(self, context: RequestContext) -> UsageTotals:
        return self.engine.usages.get_totals()

    def get_project_usage(
        self, context: RequestContext, project_id: str, without: Sequence[str] = ()
    ) -> dict[str, int]:
        return self.engine.usages.get_of_servers(project_id, without=without)

    def get_provider_usages(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, float]]]:
        return self.engine.usages.get_provider_usages(providers)

    def get_provider_trees(
        self, context: RequestContext, providers: Sequence[str]
    ) -> list[ProviderDetails]:
        return self.engine.provider_trees.list(providers)

    def get_fleet_usage(
        self, context: RequestContext, known_epoch: int | None = None
    ) -> FleetUsage:
        return self.engine.get_fleet_usage(known_epoch)

    def set_providers(
        self, context: RequestContext, providers: Sequence[ProviderReport]
    ) -> list[ProviderResult]:
        results = self.engine.providers.set_providers(providers, self._writer(context))
        for result in results:
            if result.is_not_its_own:
                context.refused_parts.append(str(result.error))
        return results

    def adopt_providers(
        self, context: RequestContext, cell_uuid: str, providers: Sequence[str], replace: bool
    ) -> list[str]:
        return self.engine.providers.adopt(cell_uuid, providers, is_replacing=replace)

    def set_trait(
        self, context: RequestContext, provider: str, trait: str, present: bool, order: int | None
    ) -> bool:
        writer = self._writer(context)
        return self.engine.providers.set_trait(
            provider, trait, present=present, order=order, writer=writer
        )

    def delete_provider(
        self, context: RequestContext, provider: str, order: int | None
    ) -> int | None:
        return self.engine.providers.delete(provider, self._writer(context), order=order)

    def set_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str], order: int | None
    ) -> int | None:
        return self.engine.aggregates.set_members(aggregate, providers, order=order)

    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        return self.engine.aggregates.get_members(aggregate, providers)

    def _writer(self, context: RequestContext) -> CellWriter | None:
        """Return the cell whose conductor signed a message; None if its writes are unrestricted."""
        signer = context.signer
        if signer is None or signer.role != CELL_CONDUCTOR or signer.scope is None:
            return None
        local = self._top_bus.message_signer
        return CellWriter(signer.scope, may_adopt=local is not None and not local.is_required)


def _totals(engine: PlacementEngine, column: str) -> dict[tuple[str, ...], float]:
    """Return the sum of a column over all providers, by resource class."""
    with engine.table() as table:
        return {
            (name,): float(getattr(table.columns_of(name), column)[table.is_there].sum())
            for name in table.resource_classes()
        }
