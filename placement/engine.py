"""Placement engine of a process: all operations on one database, called by RPC and REST."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np
from oslo_config import cfg
from oslo_utils import timeutils

from armillary.db import Database
from armillary.db.idempotency import IdempotencyRecords
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.hosts.fleet import FleetUsage
from objects.packed.provider_uuids import ProviderUUIDs
from objects.traces.explanation import CandidatesExplanation
from objects.zones.zone_summary import ProviderCapabilities
from placement.candidates import capabilities, find_candidates, rpc_candidates, smallest_change
from placement.candidates import query as queries
from placement.candidates.explain import Explainer
from placement.candidates.result import Found
from placement.candidates.strategy import Strategy
from placement.db.models import IdempotencyRecord
from placement.ledger.allocations import AllocationReader
from placement.ledger.claims import ClaimWriter
from placement.ledger.consumer_writes import ConsumerWriter
from placement.ledger.ledger_commit import LedgerCommit
from placement.ledger.retention import Pruner
from placement.ledger.usages import UsageReader
from placement.providers import fleet_usage
from placement.providers.aggregates import AggregateWriter
from placement.providers.columns import Numbers
from placement.providers.inventories import InventoryWriter
from placement.providers.pools import PoolReader
from placement.providers.provider_table import ProviderTable
from placement.providers.provider_trees import ProviderTrees
from placement.providers.provider_writes import ProviderWriter
from placement.providers.resource_classes import ResourceClasses
from placement.providers.resource_providers import ResourceProviders
from placement.providers.table_cache import TableCache
from placement.providers.traits import Traits


class PlacementEngine:
    """All operations of placement; any number of engines can share one database."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
        rng: random.Random | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._rng = rng or random.SystemRandom()
        table_cache = TableCache(database)
        self._table_cache = table_cache
        commit = LedgerCommit(
            database,
            batch_size_max=conf.placement.claim_batch_size_max,
            queue_size_max=conf.placement.claim_queue_size_max,
            clock=clock,
        )
        self.claims = ClaimWriter(commit)
        self.consumer_writes = ConsumerWriter(commit)
        self.providers = ProviderWriter(database, clock)
        self.inventories = InventoryWriter(database, clock)
        self.resource_classes = ResourceClasses(database, clock)
        self.traits = Traits(database, clock)
        self.resource_providers = ResourceProviders(database, table_cache, clock)
        self.aggregates = AggregateWriter(database, clock)
        self.allocations = AllocationReader(database)
        self.usages = UsageReader(database, table_cache)
        self.pools = PoolReader(database, table_cache)
        self.provider_trees = ProviderTrees(database, table_cache)
        self._explainer = Explainer(database, table_cache)
        self.idempotency = IdempotencyRecords(
            database, IdempotencyRecord, lambda: clock().replace(tzinfo=dt.UTC).timestamp()
        )
        self.pruner = Pruner(
            database, keep_seconds=conf.placement.forget_after_seconds, clock=clock
        )

    def table(self) -> AbstractContextManager[ProviderTable]:
        """Return a context with the table of all providers, as current as the database."""
        return self._table_cache.table()

    def get_candidates(self, query: ResourceQuery, *, by_id: bool = False) -> AllocationCandidates:
        """Return the candidates as columns. Raises ``InvalidResourceQuery``."""
        parsed, strategy = queries.parse(query), self._strategy()

        def work(table: ProviderTable) -> AllocationCandidates:
            found = smallest_change.with_lacks(
                table, parsed, find_candidates(table, parsed, strategy)
            )
            return rpc_candidates.pack(table, query, found, by_id=by_id)

        return self._table_cache.answer(work)

    def get_provider_uuids(self, ids: Numbers) -> ProviderUUIDs:
        """Return the UUIDs of providers by database id; skip unknown ids."""
        with self._table_cache.table() as table:
            rows = np.flatnonzero(np.isin(table.ids, ids) & table.is_there)
            return ProviderUUIDs.from_values(ids=table.ids[rows], uuids=table.uuids[rows].tolist())

    @contextlib.contextmanager
    def candidates(self, query: ResourceQuery) -> Iterator[tuple[ProviderTable, Found]]:
        """Yield the provider table with the candidates found in it, as rows.

        Raises ``InvalidResourceQuery``.
        """
        parsed, strategy = queries.parse(query), self._strategy()
        with self._table_cache.table() as table:
            yield table, find_candidates(table, parsed, strategy)

    def get_summary(
        self, excluded: Sequence[str], without_traits: Sequence[str]
    ) -> ProviderCapabilities:
        """Return the capabilities of all providers: see ``capabilities.summarize``."""

        def work(table: ProviderTable) -> ProviderCapabilities:
            return capabilities.summarize(table, excluded=excluded, without_traits=without_traits)

        return self._table_cache.answer(work)

    def get_fleet_usage(self, known_epoch: int | None = None) -> FleetUsage:
        """Return capacity and use of all trees: see ``fleet_usage.summarize``."""
        return self._table_cache.answer(
            lambda table: fleet_usage.summarize(table, known_epoch=known_epoch)
        )

    def explain(self, query: ResourceQuery) -> CandidatesExplanation:
        """Explain why there are no candidates. Raises ``InvalidResourceQuery``."""
        return self._explainer.explain(query)

    def ping(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database responds."""
        self._database.ping()

    def _strategy(self) -> Strategy:
        conf = self._conf.placement
        return Strategy(
            is_breadth_first=conf.allocation_candidates_generation_strategy == "breadth-first",
            candidates_max=None
            if conf.max_allocation_candidates < 0
            else conf.max_allocation_candidates,
            rng=self._new_rng() if conf.randomize_allocation_candidates else None,
        )

    def _new_rng(self) -> np.random.Generator:
        return np.random.default_rng(self._rng.getrandbits(64))  # a generator is not thread-safe
