"""RPC endpoint of placement: unpacks a call, calls the engine, packs the result."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

import rpc
from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.periodic import PeriodicTask
from objects.allocation import AllocationClaim, ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.packed.claim_batch import ClaimAnswers, ClaimBatch
from objects.packed.provider_uuids import ProviderUUIDs
from objects.resource_query import ResourceQuery
from placement.engine import PlacementEngine
from placement.interface import PlacementAPI
from rpc.server import RpcServer
from rpc.transport import Bus

PRUNE_JITTER_SECONDS = 60.0
SCHEMA = "placement.db.schema"


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

    def start(self) -> None:
        """Wait for the database; the provider table is loaded on first use.

        Raises ConfigurationError if the schema version of the database is not that of this release.
        """
        if self._database.wait_until_available(self._stopping):
            self._database.check_version(SCHEMA)

    def servers(self) -> list[RpcServer]:
        """Return the server of this process, not yet started."""
        host = self._conf.host
        return [
            self._top_bus.server(PlacementAPI.TOPIC, host, [self], version=PlacementAPI.VERSION)
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

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery, by_id: bool | None = None
    ) -> AllocationCandidates | dict[str, Any]:
        if by_id is None:  # a client of 1.0
            query.obj_set_defaults_quietly()
            primitive: dict[str, Any] = self.engine.get_candidates(query).obj_to_primitive("1.0")
            return primitive
        return self.engine.get_candidates(query, by_id=by_id)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> dict[str, Any]:
        return self.engine.explain(query)

    @rpc.expose
    def get_summary(
        self, context: RequestContext, excluded: Sequence[str], without_traits: Sequence[str]
    ) -> dict[str, Any]:
        return self.engine.get_summary(excluded, without_traits)

    @rpc.expose
    def get_provider_uuids(
        self, context: RequestContext, providers: ProviderUUIDs
    ) -> ProviderUUIDs:
        return self.engine.get_provider_uuids(providers.ids)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid, exception.Unavailable)
    def claim(
        self, context: RequestContext, claims: Sequence[AllocationClaim]
    ) -> list[ClaimResult]:
        return self.engine.claims.claim(claims)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid, exception.Unavailable)
    def claim_batch(self, context: RequestContext, batch: ClaimBatch) -> ClaimAnswers:
        return ClaimAnswers.of(self.engine.claims.claim_batch(batch.unpacked()))

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid, exception.Unavailable)
    def release(self, context: RequestContext, consumers: dict[str, int]) -> None:
        self.engine.claims.release(consumers)

    @rpc.expose
    @rpc.expected_exceptions(
        exception.NotFound, exception.Conflict, exception.Invalid, exception.Unavailable
    )
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
            source, target, fence, is_replacing=replace, consumer_type=consumer_type
        )

    @rpc.expose
    def get_allocations(
        self, context: RequestContext, consumers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        return self.engine.allocations.get(consumers)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def get_provider_allocations(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, Any]]]:
        return self.engine.holders.get(providers)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid, exception.Unavailable)
    def release_unchanged(self, context: RequestContext, consumers: dict[str, int]) -> list[str]:
        return self.engine.holders.release_unchanged(consumers)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def list_allocations(
        self, context: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        return self.engine.allocations.list(marker=marker, limit=limit)

    @rpc.expose
    def get_usage_totals(self, context: RequestContext) -> dict[str, Any]:
        return self.engine.usages.get_totals()

    @rpc.expose
    def get_provider_usages(
        self, context: RequestContext, providers: Sequence[str]
    ) -> dict[str, dict[str, dict[str, float]]]:
        return self.engine.usages.get_provider_usages(providers)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def set_providers(
        self, context: RequestContext, providers: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        return self.engine.providers.set_providers(providers)

    @rpc.expose
    @rpc.expected_exceptions(exception.NotFound)
    def set_trait(self, context: RequestContext, provider: str, trait: str, present: bool) -> None:
        self.engine.providers.set_trait(provider, trait, present=present)

    @rpc.expose
    @rpc.expected_exceptions(exception.InUse)
    def delete_provider(self, context: RequestContext, provider: str) -> None:
        self.engine.providers.delete(provider)

    @rpc.expose
    @rpc.expected_exceptions(exception.Invalid)
    def set_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> None:
        self.engine.aggregates.set_members(aggregate, providers)

    @rpc.expose
    def get_aggregate_members(
        self, context: RequestContext, aggregate: str, providers: Sequence[str]
    ) -> dict[str, list[str]]:
        return self.engine.aggregates.get_members(aggregate, providers)
