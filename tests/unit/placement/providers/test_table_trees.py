"""Trees of rows: side by side, parents before their children."""

from __future__ import annotations

import numpy as np

from placement.providers.provider_table import ProviderTrees


def a_forest() -> ProviderTrees:
    """Return a tree of rows 3 > (0, 4 > 1), an empty row 2, and a tree of row 5."""
    roots = np.array([3, 3, -1, 3, 3, 5])
    parents = np.array([3, 4, -1, -1, 3, -1])
    return ProviderTrees(roots, parents)


def test_rows_of_a_tree_come_from_the_root_down() -> None:
    """By depth, then by row."""
    trees = a_forest()
    assert trees.rows_of(3).tolist() == [3, 0, 4, 1]
    assert trees.rows_of(5).tolist() == [5]
    assert trees.depths.tolist() == [1, 2, 0, 0, 1, 0]
