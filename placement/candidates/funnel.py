"""Funnel: which trees each condition removed; a provider without a tree counts as one."""

from dataclasses import replace

import numpy as np

from objects.traces.explanation import Rejection
from objects.traces.host_sample import evenly_spread
from placement.candidates.conditions import Condition
from placement.providers.columns import Mask, Numbers
from placement.providers.provider_table import ProviderTable


class Reach:
    """Find the trees that can use given providers, their own or sharing ones."""

    def __init__(self, table: ProviderTable) -> None:
        self._table = table
        self.is_flat = not table.has_trees and not len(table.sharing.anchors)

    def trees_with(self, providers: Mask) -> Mask:
        """Return for each row whether it is the root of a tree that can use one of these."""
        if self.is_flat:
            return providers
        table = self._table
        mask = np.zeros(table.size, np.bool_)
        mask[table.root_rows[np.flatnonzero(providers)]] = True
        mask[table.sharing.anchors[providers[table.sharing.providers]]] = True
        return mask

    def best(self, offered: Numbers) -> Numbers:
        """Return for each root the most that any provider offers which its tree can use."""
        if self.is_flat:
            return offered
        table, best = self._table, np.zeros(self._table.size, np.int64)
        there = np.flatnonzero(table.is_there)
        np.maximum.at(best, table.root_rows[there], offered[there])
        np.maximum.at(best, table.sharing.anchors, offered[table.sharing.providers])
        return best


class Funnel:
    """The trees that may still serve the query; each is counted at the first rule it fails."""

    def __init__(self, table: ProviderTable, reach: Reach) -> None:
        self._table = table
        self._reach = reach
        self.remaining: Mask = self._with_inventory()
        self.count = int(np.count_nonzero(self.remaining))
        self.providers_total = self.count
        self.ruled_out: list[Rejection] = []

    def keep(self, providers: Mask, condition: Condition) -> Mask:
        """Return the providers that pass, and count the trees left without any."""
        if condition.passes.all():
            return providers
        left = providers & condition.passes
        before = self.remaining
        trees = self._reach.trees_with(left)
        count = self._take_out(trees)
        if count:
            refused = before & ~trees
            self._add(self._entry(condition, count, providers, refused), refused)
        return left

    def keep_trees(self, kind: str, name: str, trees: Mask) -> None:
        """Remove the trees whose roots do not pass."""
        before = self.remaining
        count = self._take_out(trees)
        if count:
            self._add(Rejection(kind, name, count), before & ~trees)

    def _add(self, rejection: Rejection, refused: Mask) -> None:
        """Add a rejection with a sample of the refused trees."""
        rows = evenly_spread(np.flatnonzero(refused))
        self.ruled_out.append(replace(rejection, providers=self._table.uuids[rows].tolist()))

    def _take_out(self, trees: Mask) -> int:
        self.remaining = self.remaining & trees  # a new array: callers may hold the old one
        before, self.count = self.count, int(np.count_nonzero(self.remaining))
        return before - self.count

    def _entry(self, condition: Condition, count: int, providers: Mask, refused: Mask) -> Rejection:
        if condition.columns is None:
            return condition.rejecting(count)
        in_refused = refused if self._reach.is_flat else refused[self._table.root_rows]
        offered = condition.offered[np.flatnonzero(providers & in_refused)]
        return condition.rejecting(count, offered)

    def _with_inventory(self) -> Mask:
        table = self._table
        if self._reach.is_flat:
            return table.is_live.copy()
        mask = np.zeros(table.size, np.bool_)
        mask[table.root_rows[np.flatnonzero(table.is_live)]] = True
        return mask
