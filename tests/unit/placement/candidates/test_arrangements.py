"""Arrangements: all of them in order, and the first of more than anybody could list."""

import itertools

import pytest

from placement.candidates.plan import count_arrangements, first_arrangements


@pytest.mark.parametrize(
    "picks", [[(3, 2)], [(4, 4)], [(3, 1), (4, 2)], [(1, 1), (2, 2), (3, 3)]], ids=str
)
def test_all_ways_come_in_lexicographic_order(picks: list[tuple[int, int]]) -> None:
    """As if written by hand."""
    expected = [
        [*itertools.chain(*parts)]
        for parts in itertools.product(
            *(itertools.permutations(range(there), taken) for there, taken in picks)
        )
    ]
    found = first_arrangements(picks, count_arrangements(picks))
    rows = [
        [*itertools.chain(*parts)] for parts in zip(*(part.tolist() for part in found), strict=True)
    ]
    assert rows == expected


def test_a_few_of_a_huge_number_are_made_immediately() -> None:
    """There are more ways than a machine word can count."""
    picks = [(60, 60), (60, 60)]
    assert count_arrangements(picks) > 2**64
    first, second = first_arrangements(picks, 3)
    assert first.tolist() == [[*range(60)]] * 3
    assert second[:, -3:].tolist() == [[57, 58, 59], [57, 59, 58], [58, 57, 59]]
