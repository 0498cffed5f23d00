"""Reshape of a provider tree with allocations: where they move.

If a report lacks a class of a provider that has allocations, and its tree has that class elsewhere,
the allocations move there. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary import exception
from placement.ledger.allocation_transaction import ConsumerWrite
from placement.ledger.ledger import Holding, Ledger
from placement.providers.inventory import Inventory
from placement.providers.provider_report import CurrentProvider
from placement.providers.tree_reports import Stored, TreeChange

Lost = tuple[str, str]
"""A provider, and a class that is removed from it."""


def removed_classes(report: Mapping[str, Any], stored: Stored) -> set[Lost]:
    """Return the used classes of a reported tree that the report would remove.

    Empty for a malformed report.
    """
    members = [report, *_children(report)]
    if not all(_has_inventories(one) for one in members):
        return set()
    kept = {one["uuid"]: one["inventories"].keys() for one in members}
    own = stored.places.get(report["uuid"])
    return {
        (uuid, name)
        for uuid, facts in stored.facts.items()
        for name in facts.used
        if name not in kept.get(uuid, ()) and own and stored.places[uuid].root == own.root
    }


def _children(report: Mapping[str, Any]) -> Sequence[Any]:
    children = report.get("children", ())
    return children if isinstance(children, list | tuple) else [None]


def _has_inventories(one: Any) -> bool:
    return (
        isinstance(one, Mapping)
        and isinstance(one.get("uuid"), str)
        and isinstance(one.get("inventories"), Mapping)
    )


def merged_report(
    report: Mapping[str, Any], lost: Iterable[Lost], stored: Mapping[str, CurrentProvider]
) -> dict[str, object]:
    """Return a report of the tree in both shapes: with what is new and what will be removed."""
    old: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for uuid, name in lost:
        old[uuid][name] = stored[uuid].inventories[name].to_plain()

    def both(one: Mapping[str, Any]) -> dict[str, object]:
        return {**one, "inventories": {**one["inventories"], **old[str(one["uuid"])]}}

    wide = {name: value for name, value in both(report).items() if name != "former_children"}
    if "children" in report:
        wide["children"] = [both(child) for child in report["children"]]
    return wide


def moves(ledger: Ledger, lost: set[Lost], change: TreeChange) -> list[ConsumerWrite]:
    """Return the new allocations of the consumers affected by the loss.

    ``change`` has the tree in both shapes. An amount is not split; it moves to the first provider
    of the report that has room for it. Raises InventoryInUse if none has.
    """
    homes = _MoveTargets(ledger, lost, [facts for _, facts in change.members])
    writes = []
    for uuid in sorted(ledger.holdings):
        holding = ledger.holdings[uuid]
        if holding is not None:
            writes.append(_write(uuid, holding, homes.moved(holding)))
    return writes


class _MoveTargets:
    """Providers that keep or get a class, and their usage."""

    def __init__(self, ledger: Ledger, lost: set[Lost], members: Sequence[CurrentProvider]) -> None:
        self._lost = lost
        self._by_class: dict[str, dict[str, Inventory]] = defaultdict(dict)
        for facts in members:
            for name, inventory in facts.inventories.items():
                if (facts.uuid, name) not in lost:
                    self._by_class[name][facts.uuid] = inventory
        self._used = Counter[Lost]()
        for uuid, provider in ledger.providers.items():
            for name, account in provider.accounts.items():
                self._used[uuid, name] = account.used

    def moved(self, holding: Holding) -> dict[str, dict[str, int]]:
        """Return a consumer's allocations after nothing of it is lost."""
        amounts: dict[str, dict[str, int]] = defaultdict(dict)
        for provider, resources in holding.amounts.items():
            for name, amount in resources.items():
                if (provider, name) not in self._lost:
                    amounts[provider][name] = amount
        for provider, resources in sorted(holding.amounts.items()):
            for name, amount in sorted(resources.items()):
                if (provider, name) in self._lost:
                    home = self._home(provider, name, amount, amounts)
                    self._used[home, name] += amount
                    amounts[home][name] = amounts[home].get(name, 0) + amount
        return dict(amounts)

    def _home(
        self, provider: str, name: str, amount: int, held: Mapping[str, Mapping[str, int]]
    ) -> str:
        for uuid, inventory in self._by_class[name].items():
            together = amount + held.get(uuid, {}).get(name, 0)
            used = self._used[uuid, name] + amount - together
            if inventory.refusal(together, used) is None:
                return uuid
        raise exception.InventoryInUse(resource_class=name, provider=provider)


def _write(uuid: str, holding: Holding, amounts: Mapping[str, Mapping[str, int]]) -> ConsumerWrite:
    return ConsumerWrite(
        consumer_uuid=uuid,
        allocations={provider: dict(resources) for provider, resources in amounts.items()},
        project_id=holding.project_id,
        user_id=holding.user_id,
        consumer_type=holding.consumer_type,
        generation=holding.generation,
    )
