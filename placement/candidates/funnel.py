"""How many trees each condition took out; a plain provider is a tree of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from placement import feasibility
from placement.candidates.conditions import Condition
from placement.columns import Mask
from placement.provider_table import ProviderTable


class Reach:
    """Finds the trees that have some providers, of their own or lent by sharing ones."""

    def __init__(self, table: ProviderTable) -> None:
        self._table = table
        self.is_plain = not table.has_trees and not len(table.sharing.anchors)

    def trees_with(self, providers: Mask) -> Mask:
        """Tell for each row whether it is the root of a tree with one of these providers."""
        if self.is_plain:
            return providers
        table = self._table
        mask = np.zeros(table.size, np.bool_)
        mask[table.root_rows[np.flatnonzero(providers)]] = True
        mask[table.sharing.anchors[providers[table.sharing.providers]]] = True
        return mask


class Funnel:
    """The trees that could still serve everything; each is counted at the first rule it fails."""

    def __init__(self, table: ProviderTable, reach: Reach) -> None:
        self._table = table
        self._reach = reach
        self.remaining: Mask = self._with_inventory()
        self.count = int(np.count_nonzero(self.remaining))
        self.providers_total = self.count
        self.ruled_out: list[dict[str, Any]] = []

    def keep(self, providers: Mask, condition: Condition) -> Mask:
        """Return those of some providers that pass, and count the trees left without any."""
        if condition.passes.all():
            return providers
        left = providers & condition.passes
        before = self.remaining
        trees = self._reach.trees_with(left)
        count = self._take_out(trees)
        if count:
            self.ruled_out.append(self._entry(condition, count, providers, before & ~trees))
        return left

    def keep_trees(self, kind: str, name: str, trees: Mask) -> None:
        """Take out the trees whose roots do not pass."""
        count = self._take_out(trees)
        if count:
            self.ruled_out.append({"kind": kind, "name": name, "count": count})

    def _take_out(self, trees: Mask) -> int:
        self.remaining = self.remaining & trees  # a new one: callers may hold the former
        before, self.count = self.count, int(np.count_nonzero(self.remaining))
        return before - self.count

    def _entry(
        self, condition: Condition, count: int, providers: Mask, refused: Mask
    ) -> dict[str, Any]:
        entry = {"kind": condition.kind, "name": condition.name, "count": count}
        if condition.columns is None:
            return entry
        in_refused = refused if self._reach.is_plain else refused[self._table.root_rows]
        free = feasibility.free(condition.columns)[np.flatnonzero(providers & in_refused)]
        entry |= {"asked": condition.asked, "best": max(0, int(free.max(initial=0)))}
        return entry if condition.rule is None else entry | {"rule": condition.rule}

    def _with_inventory(self) -> Mask:
        table = self._table
        if self._reach.is_plain:
            return table.is_live.copy()
        mask = np.zeros(table.size, np.bool_)
        mask[table.root_rows[np.flatnonzero(table.is_live)]] = True
        return mask
