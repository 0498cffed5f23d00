"""In-memory placement: the part of ``PlacementAPI`` that schedulers use.

Candidates and claims are computed by the same code as in a deployment. There is no RPC and no
database, which would cost ten times as much as everything else.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from oslo_config import cfg

from armillary.context import RequestContext
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.instances.group_claim import GroupMember
from objects.packed.provider_uuids import Ids, ProviderUUIDs, UUIDCache, complete
from objects.zones.zone_summary import ProviderCapabilities
from placement.candidates import capabilities, find_candidates, rpc_candidates
from placement.candidates import query as queries
from placement.candidates.strategy import Strategy
from placement.ledger.claims import ClaimWriter
from placement.ledger.group_places import GroupPlaces
from placement.ledger.ledger import Account, Holding, Ledger, Provider
from placement.ledger.ledger_commit import LedgerCommit, Work
from placement.providers.inventory import Inventory, parse_inventory
from placement.providers.provider_changes import ChangedProvider, ProviderChanges
from placement.providers.provider_table import ProviderTable


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
    ) -> ProviderCapabilities:
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

    def list_group_members(self, context: RequestContext, group_uuid: str) -> list[GroupMember]:
        places = self.ledger.groups.places.get(group_uuid, {}).values()
        return [GroupMember(each.member_uuid, each.host, each.epoch) for each in places]

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


class MemoryLedger:
    """Replacement of ``LedgerCommit``: commits take effect in the provider table immediately.

    ``reports`` are providers as for ``PlacementAPI.set_providers``; ``aggregates`` maps the UUIDs
    of aggregates to those of their members.
    """

    def __init__(
        self,
        reports: Sequence[Mapping[str, Any]],
        inventories: Sequence[Mapping[str, Inventory]],
        aggregates: Mapping[str, Sequence[str]],
    ) -> None:
        self.table = ProviderTable()
        self._holdings: dict[str, Holding] = {}
        self._fences: dict[str, int] = {}
        self.groups = GroupPlaces()
        self._ids = {report["uuid"]: number for number, report in enumerate(reports, 1)}
        self._names = [report["name"] for report in reports]
        self._inventories = list(inventories)
        self._providers: dict[str, Provider] = {}  # providers with allocations
        self.table.apply(_changes(reports, inventories, self._ids, aggregates))

    def check_size(self, what: str, size: int) -> None:
        """Accept any number of claims: there is no transaction to keep short."""

    def submit(self, work: Work) -> Any:
        """Return the result of the work, or raise its error."""
        consumers = work.consumers
        held = {uuid: self._holdings.get(uuid) for uuid in consumers}
        named = {
            *work.providers,
            *(name for each in held.values() if each for name in each.amounts),
        }
        ledger = Ledger(
            holdings=held,
            fences={uuid: self._fences[uuid] for uuid in consumers if uuid in self._fences},
            providers={uuid: self._provider(uuid) for uuid in named if uuid in self._ids},
            groups=self.groups,
            epoch=self.table.epoch + 1,
        )
        try:
            return work.apply(ledger)
        finally:
            self._keep(ledger)

    def used(self, provider_uuid: str) -> dict[str, int]:
        """Return the used amount per resource class of a provider."""
        accounts = self._provider(provider_uuid).accounts
        return {name: account.used for name, account in accounts.items()}

    def _provider(self, uuid: str) -> Provider:
        provider = self._providers.get(uuid)
        if provider is None:
            number = self._ids[uuid]
            given = self._inventories[number - 1]
            provider = self._providers[uuid] = Provider(
                id=number,
                name=self._names[number - 1],
                accounts={name: Account(None, item, 0) for name, item in given.items()},
            )
        return provider

    def _keep(self, ledger: Ledger) -> None:
        for uuid in ledger.changed_consumers:
            holding = ledger.holdings[uuid]
            if holding is None:
                self._holdings.pop(uuid, None)
            else:
                self._holdings[uuid] = holding
        for uuid in ledger.changed_fences:
            self._fences[uuid] = ledger.fences[uuid]
        changes = ProviderChanges(epoch=self.table.epoch + 1)
        for uuid, name in sorted(ledger.changed_accounts):
            provider = self._providers[uuid]
            used = provider.accounts[name].used
            changes.usages.setdefault(name, []).append((provider.id, used))
        for provider in ledger.providers.values():
            provider.steps = 0
        self.table.apply(changes)


def _changes(
    reports: Sequence[Mapping[str, Any]],
    inventories: Sequence[Mapping[str, Inventory]],
    ids: Mapping[str, int],
    aggregates: Mapping[str, Sequence[str]],
) -> ProviderChanges:
    changes = ProviderChanges(
        epoch=1,
        providers=[ChangedProvider(number, uuid, number) for uuid, number in ids.items()],
        aggregates={
            uuid: [ids[member] for member in members] for uuid, members in aggregates.items()
        },
    )
    for report, given in zip(reports, inventories, strict=True):
        number = ids[report["uuid"]]
        for name, inventory in given.items():
            changes.inventories.setdefault(name, []).append((number, inventory))
        for trait in report["traits"]:
            changes.traits.setdefault(trait, []).append(number)
    return changes
