"""Trait sets: each kept once, worked out when it is asked for."""

import numpy as np

from placement.providers.provider_table import TraitSets


def test_equal_sets_have_one_number() -> None:
    """Names are sorted."""
    sets = TraitSets()
    sets.grow(3)
    traits = {"B": np.array([True, True, False]), "A": np.array([True, True, False])}
    numbers = sets.numbers_of(np.array([0, 1, 2]), traits)
    assert numbers[0] == numbers[1] != numbers[2]
    assert [sets[number] for number in numbers] == [("A", "B"), ("A", "B"), ()]


def test_rows_keep_their_set_until_they_are_forgotten() -> None:
    """Every writer of traits says so."""
    sets = TraitSets()
    sets.grow(2)
    rows = np.array([0, 1])
    sets.numbers_of(rows, {"A": np.array([True, False])})
    now = {"A": np.array([False, True])}
    assert [sets[number] for number in sets.numbers_of(rows, now)] == [("A",), ()]
    sets.forget(np.array([1]))
    assert [sets[number] for number in sets.numbers_of(rows, now)] == [("A",), ("A",)]


def test_more_than_eight_traits_are_told_apart() -> None:
    """They do not fit in one byte."""
    sets = TraitSets()
    sets.grow(20)
    traits = {f"T{index:02}": np.arange(20) == index for index in range(20)}
    numbers = sets.numbers_of(np.arange(20), traits)
    assert [sets[number] for number in numbers] == [(f"T{index:02}",) for index in range(20)]


def test_sets_of_the_past_are_let_go() -> None:
    """A provider that changes all the time does not fill the memory."""
    sets = TraitSets()
    sets.grow(1)
    row = np.array([0])
    for index in range(3000):
        sets.forget(row)
        number = sets.numbers_of(row, {f"T{index}": np.array([True])})[0]
        assert sets[number] == (f"T{index}",)
        assert number <= 1026


def test_without_any_trait_all_have_the_empty_set() -> None:
    """A fleet may have none."""
    sets = TraitSets()
    sets.grow(2)
    assert sets[sets.numbers_of(np.array([1]), {})[0]] == ()
