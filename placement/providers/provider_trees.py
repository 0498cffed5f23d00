"""Provider trees: the rows of each tree in the provider table, from the root down."""

from __future__ import annotations

import numpy as np

from placement.providers.columns import Mask, Numbers, Rows


class ProviderTrees:
    """All rows with a provider, grouped by tree, parents before children."""

    def __init__(self, root_rows: Rows, parent_rows: Rows) -> None:
        self.depths = _depths(parent_rows)
        there = np.flatnonzero(root_rows >= 0)
        self.order: Rows = there[np.lexsort((there, self.depths[there], root_rows[there]))]
        self._counts: Numbers = np.bincount(root_rows[there], minlength=len(root_rows))
        self._starts: Numbers = np.cumsum(self._counts) - self._counts

    def rows_of(self, root_row: int) -> Rows:
        """Return the rows of one tree, the root first."""
        start = self._starts[root_row]
        return self.order[start : start + self._counts[root_row]]


def _depths(parent_rows: Rows) -> Numbers:
    depths = np.zeros(len(parent_rows), np.int64)
    above: Rows = parent_rows
    while (is_below := above >= 0).any():
        depths += is_below
        above = _step_up(above, is_below, parent_rows)
    return depths


def _step_up(above: Rows, is_below: Mask, parent_rows: Rows) -> Rows:
    higher: Rows = np.where(is_below, parent_rows[above], -1)
    return higher
