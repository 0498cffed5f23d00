"""Sets of CPUs are read as they are written everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects import numa


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3, 8,^2", {0, 1, 3, 8}), ("5", {5}), ("0-7,^0-1", set(range(2, 8))), ("1,^1", set())],
    ids=str,
)
def test_ranges_and_exclusions_are_understood(text: str, cpus: set[int]) -> None:
    """Whatever their order."""
    assert numa.parse_cpus(text) == cpus


def test_nothing_but_exclusions_may_stand_for_all_others() -> None:
    """Where the caller says so."""
    assert numa.parse_cpus("^0", cpu_max=3, all_but=True) == {1, 2, 3}
    assert numa.parse_cpus("^0", cpu_max=3) == set()


@pytest.mark.parametrize("text", ["", "a", "1-", "3-1", "0-99999", "1;2", "--", "^", "٣"], ids=str)
def test_what_is_not_a_set_is_said(text: str) -> None:
    """Before a long range is spelled out."""
    with pytest.raises(ValueError, match=r"CPU|range"):
        numa.parse_cpus(text)


@given(st.frozensets(st.integers(0, 70), min_size=1))
def test_a_set_is_written_as_it_is_read(cpus: frozenset[int]) -> None:
    """In the shortest form."""
    assert numa.parse_cpus(numa.format_cpus(cpus)) == cpus
    assert numa.format_cpus([0, 1, 2, 5]) == "0-2,5"
