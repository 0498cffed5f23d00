"""The parts of placement over one database, once in a process; RPC and REST stand on them."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from oslo_config import cfg
from oslo_utils import timeutils

from armillary.db import Database
from objects.allocation_candidates import AllocationCandidates
from objects.provider_uuids import ProviderUUIDs
from objects.resource_query import ResourceQuery
from placement import capabilities, packed_candidates
from placement import query as queries
from placement.aggregates import AggregateWriter
from placement.allocations import AllocationReader
from placement.candidates import find_candidates
from placement.candidates.result import Found
from placement.candidates.strategy import Strategy
from placement.claims import ClaimWriter
from placement.columns import Numbers
from placement.consumer_writes import ConsumerWriter
from placement.explanations import Explainer
from placement.holders import Holders
from placement.inventories import InventoryWriter
from placement.ledger_commit import LedgerCommit
from placement.provider_table import ProviderTable
from placement.providers import ProviderWriter
from placement.pruning import Pruner
from placement.reshaper import Reshaper
from placement.resource_classes import ResourceClasses
from placement.resource_providers import ResourceProviders
from placement.table_keeper import TableKeeper
from placement.traits import Traits
from placement.usages import UsageReader


class PlacementEngine:
    """What placement can do; any number of engines may work on one database."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
        dice: random.Random | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._dice = dice or random.SystemRandom()
        keeper = TableKeeper(database)
        self._keeper = keeper
        commit = LedgerCommit(
            database,
            batch_size_max=conf.placement.claim_batch_size_max,
            queue_size_max=conf.placement.claim_queue_size_max,
            clock=clock,
        )
        self.claims = ClaimWriter(commit)
        self.consumer_writes = ConsumerWriter(commit)
        self.reshaper = Reshaper(commit)
        self.providers = ProviderWriter(database, clock)
        self.inventories = InventoryWriter(database, clock)
        self.resource_classes = ResourceClasses(database, clock)
        self.traits = Traits(database, clock)
        self.resource_providers = ResourceProviders(database, keeper, clock)
        self.aggregates = AggregateWriter(database, clock)
        self.allocations = AllocationReader(database)
        self.holders = Holders(database, commit)
        self.usages = UsageReader(database, keeper)
        self._explainer = Explainer(database, keeper)
        self.pruner = Pruner(
            database, keep_seconds=conf.placement.forget_after_seconds, clock=clock
        )

    def table(self) -> AbstractContextManager[ProviderTable]:
        """Lend the table of all providers, as new as the database is now."""
        return self._keeper.table()

    def get_candidates(self, query: ResourceQuery, *, by_id: bool = False) -> AllocationCandidates:
        """Return the candidates as columns. Raises ``InvalidResourceQuery``."""
        parsed, strategy = queries.parse(query), self._strategy()

        def work(table: ProviderTable) -> AllocationCandidates:
            found = find_candidates(table, parsed, strategy)
            return packed_candidates.pack(table, query, found, by_id=by_id)

        return self._keeper.answer(work)

    def get_provider_uuids(self, ids: Numbers) -> ProviderUUIDs:
        """Return the UUIDs of providers by the database's ids; those there are."""
        with self._keeper.table() as table:
            rows = np.flatnonzero(np.isin(table.ids, ids) & table.is_there)
            return ProviderUUIDs.from_values(ids=table.ids[rows], uuids=table.uuids[rows].tolist())

    @contextlib.contextmanager
    def candidates(self, query: ResourceQuery) -> Iterator[tuple[ProviderTable, Found]]:
        """Lend the provider table with the candidates found in it, as its rows.

        Raises ``InvalidResourceQuery``.
        """
        parsed, strategy = queries.parse(query), self._strategy()
        with self._keeper.table() as table:
            yield table, find_candidates(table, parsed, strategy)

    def get_summary(self, excluded: Sequence[str], without_traits: Sequence[str]) -> dict[str, Any]:
        """Return what all providers can do at most, as ``capabilities.summarize`` says."""

        def work(table: ProviderTable) -> dict[str, Any]:
            return capabilities.summarize(table, excluded=excluded, without_traits=without_traits)

        return self._keeper.answer(work)

    def explain(self, query: ResourceQuery) -> dict[str, Any]:
        """Return what stands in the way of candidates. Raises ``InvalidResourceQuery``."""
        return self._explainer.explain(query)

    def ping(self) -> None:
        """Raise ``DatabaseUnavailable`` unless the database answers."""
        self._database.ping()

    def _strategy(self) -> Strategy:
        conf = self._conf.placement
        return Strategy(
            is_breadth_first=conf.allocation_candidates_generation_strategy == "breadth-first",
            candidates_max=None
            if conf.max_allocation_candidates < 0
            else conf.max_allocation_candidates,
            dice=self._new_dice() if conf.randomize_allocation_candidates else None,
        )

    def _new_dice(self) -> np.random.Generator:
        return np.random.default_rng(self._dice.getrandbits(64))  # one is for one thread only
