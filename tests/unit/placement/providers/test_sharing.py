"""Sharing: a provider is lent to every other tree that has a member in its aggregates."""

import numpy as np
import pytest

from placement.providers.sharing import find_sharing

ROOTS = np.array([0, 0, 2, 3, 3])  # trees of rows 0 and 1, of row 2, of rows 3 and 4


@pytest.mark.parametrize(
    ("aggregates", "pairs"),
    [
        ({}, []),
        ({"rack": {2}}, []),
        ({"rack": {2, 1}}, [(0, 2)]),
        ({"rack": {2, 1, 0}, "row": {2, 4, 1}}, [(0, 2), (3, 2)]),
        ({"rack": {1, 3}}, []),
    ],
    ids=["no aggregate", "alone", "a child of a tree", "twice the same tree", "of others"],
)
def test_row_two_is_lent_to_the_trees_of_its_neighbours(
    aggregates: dict[str, set[int]], pairs: list[tuple[int, int]]
) -> None:
    """Each tree once, in ascending order of their roots, never its own."""
    aggregates_of = {2: [name for name, members in aggregates.items() if 2 in members]}
    sharing = find_sharing([2], ROOTS, aggregates_of, aggregates)
    found = zip(sharing.anchors.tolist(), sharing.providers.tolist(), strict=True)
    assert [*found] == pairs
    assert sharing.is_shared(5).tolist() == [False, False, bool(pairs), False, False]
