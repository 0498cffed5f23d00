"""Entries: the eligible providers of each tree, and the trees that may have enough of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from placement.candidates.eligible import Eligible
from placement.candidates.problem import Problem
from placement.ledger import feasibility
from placement.providers.columns import Mask, Numbers, Rows
from placement.providers.provider_table import ProviderTable


@dataclass(frozen=True)
class Entries:
    """Rows of providers, grouped by the tree that can use them.

    ``anchors`` (n,) are the rows of the roots; ``starts`` and ``counts`` (n,) locate the providers
    of each in ``rows``. Each has at least one.
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
        """Exclude some providers (a column over the table), and trees left without any."""
        keep = ~providers[self.rows]
        return _grouped(np.repeat(self.anchors, self.counts)[keep], self.rows[keep])

    def count_by_tree(self, values: Numbers | Mask) -> Numbers:
        """Return the sum per tree of a value per entry."""
        if not len(self.anchors):
            return np.zeros(0, np.int64)
        sums: Numbers = np.add.reduceat(values.astype(np.int64), self.starts)
        return sums


def gather(table: ProviderTable, eligible: Eligible) -> Entries:
    """Return the eligible providers of each tree that may be searched."""
    any_need = eligible.any_need
    order = table.tree_order if table.has_trees else np.flatnonzero(table.is_there)
    own = order[any_need[order]]
    sharing = table.sharing
    is_useful = any_need[sharing.providers]
    if not is_useful.any():
        anchors, rows = table.root_rows[own], own
    else:
        anchors = np.concatenate((table.root_rows[own], sharing.anchors[is_useful]))
        rows = np.concatenate((own, sharing.providers[is_useful]))
        by_anchor = np.argsort(anchors, kind="stable")
        anchors, rows = anchors[by_anchor], rows[by_anchor]
    if not eligible.roots.all():
        may_be_searched = eligible.roots[anchors]
        anchors, rows = anchors[may_be_searched], rows[may_be_searched]
    return _grouped(anchors, rows)


def may_have_enough(
    table: ProviderTable, problem: Problem, eligible: Eligible, entries: Entries
) -> Mask:
    """Return the trees not ruled out by counting eligible providers and their free capacity."""
    enough = np.ones(len(entries.anchors), np.bool_)
    for need, can_serve in enumerate(eligible.can_serve):
        demands = [demand for demand in problem.demands if demand.need == need]
        portions = can_serve[entries.rows].astype(np.int64)
        if len(demands) > 1 and not (problem.is_isolated and demands[0].suffix):
            portions *= _portions(table, demands[0].resources, len(demands), entries.rows)
        enough &= entries.count_by_tree(portions) >= len(demands)
    for has_trait in eligible.has_trait:
        enough &= entries.count_by_tree(has_trait[entries.rows]) > 0
    numbered = problem.numbered
    if problem.is_isolated and len({demand.need for demand in numbered}) > 1:
        some = np.logical_or.reduce([eligible.can_serve[demand.need] for demand in numbered])
        enough &= entries.count_by_tree(some[entries.rows]) >= len(numbered)
    return enough


def _portions(table: ProviderTable, resources: Mapping[str, int], most: int, rows: Rows) -> Numbers:
    """Return how many times each row has the requested amounts, at most ``most``."""
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
