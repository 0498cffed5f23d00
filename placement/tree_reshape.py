"""A tree that takes another shape while something is allocated of it: who holds what, where, then.

When a provider is reported without a class of which something is allocated, and its tree has that
class elsewhere, what is allocated moves there. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary import exception
from placement.inventory import Inventory
from placement.ledger import Holding, Ledger
from placement.provider_families import FamilyChange, Stored
from placement.provider_report import Facts
from placement.settlement import ConsumerWrite

Lost = tuple[str, str]
"""A provider, and a class that it shall have no more."""


def lost_in(report: Mapping[str, Any], stored: Stored) -> set[Lost]:
    """Return what is used of the tree that a report is of, and would go by it.

    Nothing of a report that makes no sense.
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


def widened(
    report: Mapping[str, Any], lost: Iterable[Lost], stored: Mapping[str, Facts]
) -> dict[str, Any]:
    """Return a report of the tree in both shapes: with what is new, and with what shall go."""
    old: dict[str, dict[str, Any]] = defaultdict(dict)
    for uuid, name in lost:
        old[uuid][name] = stored[uuid].inventories[name].to_plain()

    def both(one: Mapping[str, Any]) -> dict[str, Any]:
        return {**one, "inventories": {**one["inventories"], **old[str(one["uuid"])]}}

    wide = {name: value for name, value in both(report).items() if name != "former_children"}
    if "children" in report:
        wide["children"] = [both(child) for child in report["children"]]
    return wide


def moves(ledger: Ledger, lost: set[Lost], change: FamilyChange) -> list[ConsumerWrite]:
    """Return what the consumers in a ledger shall hold instead of what is lost.

    ``change`` has the tree in both shapes. An amount stays together, on the first provider of the
    report that has room for it. Raises InventoryInUse when none has.
    """
    homes = _Homes(ledger, lost, [facts for _, facts in change.members])
    writes = []
    for uuid in sorted(ledger.holdings):
        holding = ledger.holdings[uuid]
        if holding is not None:
            writes.append(_write(uuid, holding, homes.moved(holding)))
    return writes


class _Homes:
    """Which providers have a class from now on, and what is used of them."""

    def __init__(self, ledger: Ledger, lost: set[Lost], members: Sequence[Facts]) -> None:
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
        """Return what a consumer holds once nothing of it is lost."""
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
