"""The providers that can serve something, tree by tree, and which trees may have enough of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from placement import feasibility
from placement.candidates.problem import Problem
from placement.candidates.servers import Servers
from placement.columns import Mask, Numbers, Rows
from placement.provider_table import ProviderTable


@dataclass(frozen=True)
class Entries:
    """Rows of providers, those within reach of a tree side by side.

    ``anchors`` (n,) are the rows of the roots, ``starts`` and ``counts`` (n,) say where the
    providers of each are in ``rows``; each has at least one.
    """

    anchors: Rows
    starts: Numbers
    counts: Numbers
    rows: Rows

    def only(self, positions: Rows) -> Entries:
        """Return the entries of some trees, in this order."""
        counts = self.counts[positions]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        jumps = np.repeat(self.starts[positions] - ends + counts, counts)
        rows = self.rows[jumps + np.arange(total)]
        return Entries(self.anchors[positions], ends - counts, counts, rows)

    def without(self, providers: Mask) -> Entries:
        """Leave out some providers (a column over the table), and trees that have no others."""
        keep = ~providers[self.rows]
        return _grouped(np.repeat(self.anchors, self.counts)[keep], self.rows[keep])

    def count_by_tree(self, values: Numbers | Mask) -> Numbers:
        """Return the sum for each tree of a value for each entry."""
        if not len(self.anchors):
            return np.zeros(0, np.int64)
        sums: Numbers = np.add.reduceat(values.astype(np.int64), self.starts)
        return sums


def gather(table: ProviderTable, servers: Servers) -> Entries:
    """Return the providers that can serve something, of each tree that may be searched."""
    anybody = servers.anybody
    order = table.trees.order if table.has_trees else np.flatnonzero(table.is_there)
    own = order[anybody[order]]
    sharing = table.sharing
    is_useful = anybody[sharing.providers]
    if not is_useful.any():
        anchors, rows = table.root_rows[own], own
    else:
        anchors = np.concatenate((table.root_rows[own], sharing.anchors[is_useful]))
        rows = np.concatenate((own, sharing.providers[is_useful]))
        by_anchor = np.argsort(anchors, kind="stable")
        anchors, rows = anchors[by_anchor], rows[by_anchor]
    if not servers.roots.all():
        may_be_searched = servers.roots[anchors]
        anchors, rows = anchors[may_be_searched], rows[may_be_searched]
    return _grouped(anchors, rows)


def may_have_enough(
    table: ProviderTable, problem: Problem, servers: Servers, entries: Entries
) -> Mask:
    """Tell which trees are not ruled out by counting: of servers, and of what is left in them."""
    enough = np.ones(len(entries.anchors), np.bool_)
    for need, can_serve in enumerate(servers.can_serve):
        demands = [demand for demand in problem.demands if demand.need == need]
        portions = can_serve[entries.rows].astype(np.int64)
        if len(demands) > 1 and not (problem.is_isolated and demands[0].suffix):
            portions *= _portions(table, demands[0].resources, len(demands), entries.rows)
        enough &= entries.count_by_tree(portions) >= len(demands)
    for has_trait in servers.has_trait:
        enough &= entries.count_by_tree(has_trait[entries.rows]) > 0
    numbered = problem.numbered
    if problem.is_isolated and len({demand.need for demand in numbered}) > 1:
        some = np.logical_or.reduce([servers.can_serve[demand.need] for demand in numbered])
        enough &= entries.count_by_tree(some[entries.rows]) >= len(numbered)
    return enough


def _portions(table: ProviderTable, resources: Mapping[str, int], most: int, rows: Rows) -> Numbers:
    """Return how many times each row has what is asked, at most ``most``."""
    portions = np.full(len(rows), most, np.int64)
    for name, amount in resources.items():
        free = feasibility.free(table.columns_of(name))[rows]
        np.minimum(portions, free // amount, out=portions)
    return portions


def _grouped(anchors: Rows, rows: Rows) -> Entries:
    """Return entries from pairs that are sorted by anchor."""
    is_first = np.ones(len(anchors), np.bool_)
    is_first[1:] = anchors[1:] != anchors[:-1]
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=len(anchors))
    return Entries(anchors[starts], starts, counts, rows)
