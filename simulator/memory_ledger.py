"""In-memory ledger of placement: the same rules for claims, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placement.ledger.ledger import Account, Holding, Ledger, Provider
from placement.ledger.ledger_commit import Work
from placement.providers.inventory import Inventory
from placement.providers.provider_changes import ChangedProvider, ProviderChanges
from placement.providers.provider_table import ProviderTable


class MemoryLedger:
    """Replacement of ``LedgerCommit``: commits take effect in the provider table at once.

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
