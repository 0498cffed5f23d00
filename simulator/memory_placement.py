"""In-memory placement: the part of ``PlacementAPI`` that schedulers use.

Candidates and claims are computed by the same code as in a deployment. There is no RPC and no
database, which would cost ten times as much as everything else.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from oslo_config import cfg

from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.packed.provider_uuids import Ids, ProviderUUIDs, UUIDCache, complete
from objects.resource_query import ResourceQuery
from placement.candidates import capabilities, find_candidates, rpc_candidates
from placement.candidates import query as queries
from placement.candidates.strategy import Strategy
from placement.ledger.claims import ClaimWriter
from placement.ledger.ledger_commit import LedgerCommit
from placement.providers.inventory import Inventory, parse_inventory
from simulator.memory_ledger import MemoryLedger


class MemoryPlacement:
    """Implements methods of ``PlacementAPI``, which documents them."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        reports: Sequence[Mapping[str, Any]],
        aggregates: Mapping[str, Sequence[str]],
        *,
        rng: random.Random,
    ) -> None:
        self._conf = conf
        self._rng = rng
        self._book = UUIDCache()  # as over RPC; lookup by id is faster
        self.ledger = MemoryLedger(reports, _inventories(reports), aggregates)
        self._claims = ClaimWriter(cast("LedgerCommit", self.ledger))

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        parsed, table = queries.parse(query), self.ledger.table
        found = find_candidates(table, parsed, self._strategy())
        packed = rpc_candidates.pack(table, query, found, by_id=True)
        if not complete(packed, self._book, self._uuids_of):
            raise AssertionError("cannot happen: no provider is added or removed here")
        return packed

    def get_summary(
        self,
        context: RequestContext,
        *,
        excluded: Sequence[str] = (),
        without_traits: Sequence[str] = (),
    ) -> dict[str, Any]:
        found = capabilities.summarize(
            self.ledger.table, excluded=excluded, without_traits=without_traits
        )
        return dataclasses.asdict(found)

    def claim(
        self, context: RequestContext, claims: Sequence[AllocationClaim]
    ) -> list[ClaimResult]:
        return self._claims.claim(claims)

    def release(self, context: RequestContext, consumers: Mapping[str, int]) -> None:
        self._claims.release(consumers)

    def move_allocations(
        self, context: RequestContext, source: str, target: str, *, fence: int
    ) -> None:
        self._claims.move(source, target, fence)

    def _uuids_of(self, ids: Ids) -> ProviderUUIDs:
        table = self.ledger.table
        rows = np.flatnonzero(np.isin(table.ids, ids) & table.is_there)
        return ProviderUUIDs.from_values(ids=table.ids[rows], uuids=table.uuids[rows].tolist())

    def _strategy(self) -> Strategy:
        options = self._conf.placement
        most = options.max_allocation_candidates
        return Strategy(
            is_breadth_first=options.allocation_candidates_generation_strategy == "breadth-first",
            candidates_max=None if most < 0 else most,
            rng=np.random.default_rng(self._rng.getrandbits(64))
            if options.randomize_allocation_candidates
            else None,
        )


def _inventories(reports: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Inventory]]:
    """Return the inventories of each provider; equal ones share one object, as most do."""
    known: dict[Any, Mapping[str, Inventory]] = {}
    found = []
    for report in reports:
        given = report["inventories"]
        key = tuple((name, *sorted(values.items())) for name, values in given.items())
        if key not in known:
            known[key] = {
                name: parse_inventory(report["uuid"], name, values, None)
                for name, values in given.items()
            }
        found.append(known[key])
    return found
