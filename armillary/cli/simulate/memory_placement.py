"""Placement in this process and in memory: what ``PlacementAPI`` offers to schedulers.

Candidates are found, and claims judged, by the very code that serves a deployment; there is no RPC
and no database, which would cost ten times as much as all the rest.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from oslo_config import cfg

from armillary.cli.simulate.memory_ledger import MemoryLedger
from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimResult
from objects.allocation_candidates import AllocationCandidates
from objects.provider_uuids import Ids, ProviderUUIDs, UUIDBook, complete
from objects.resource_query import ResourceQuery
from placement import capabilities, packed_candidates
from placement import query as queries
from placement.candidates import find_candidates
from placement.candidates.strategy import Strategy
from placement.claims import ClaimWriter
from placement.inventory import Inventory, parse_inventory
from placement.ledger_commit import LedgerCommit


class MemoryPlacement:
    """What these methods promise is in ``PlacementAPI``."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        reports: Sequence[Mapping[str, Any]],
        aggregates: Mapping[str, Sequence[str]],
        *,
        dice: random.Random,
    ) -> None:
        self._conf = conf
        self._dice = dice
        self._book = UUIDBook()  # candidates by id are found sooner, as over RPC
        self.ledger = MemoryLedger(reports, _inventories(reports), aggregates)
        self._claims = ClaimWriter(cast("LedgerCommit", self.ledger))

    def get_allocation_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> AllocationCandidates:
        parsed, table = queries.parse(query), self.ledger.table
        found = find_candidates(table, parsed, self._strategy())
        packed = packed_candidates.pack(table, query, found, by_id=True)
        if not complete(packed, self._book, self._uuids_of):
            raise AssertionError("a provider came or went, which none does here")
        return packed

    def get_summary(
        self,
        context: RequestContext,
        *,
        excluded: Sequence[str] = (),
        without_traits: Sequence[str] = (),
    ) -> dict[str, Any]:
        return capabilities.summarize(
            self.ledger.table, excluded=excluded, without_traits=without_traits
        )

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
            dice=np.random.default_rng(self._dice.getrandbits(64))
            if options.randomize_allocation_candidates
            else None,
        )


def _inventories(reports: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Inventory]]:
    """Return what each provider has; of equal ones it is the same object, as most are."""
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
