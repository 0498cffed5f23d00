"""Reasons are grouped; their counts are exact, or the least that they may be, at a bounded cost."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.explain.reasons import Reasons, grouped
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from tests.fleets import a_host, a_table


class Words:
    """Says how many instances a host runs; remembers how often it was asked."""

    def __init__(self, text: str = "runs {}") -> None:
        self.asked = 0
        self._text = text

    def __call__(self, host: HostState) -> str | None:
        self.asked += 1
        return self._text.format(host.num_instances)


def running(*instances: int) -> HostTable:
    return a_table(
        [a_host(f"host{n}", num_instances=count) for n, count in enumerate(instances, 1)]
    )


def of_all(words: Any, hosts: HostTable, **options: Any) -> Reasons:
    options = {"columns": None, **options}
    return grouped(words, hosts, np.arange(len(hosts)), **options)


def test_equal_reasons_are_counted_together_the_most_frequent_first() -> None:
    """Of the removed hosts, not of all."""
    hosts = running(1, 2, 2, 3, 2)
    found = grouped(Words(), hosts, np.array([0, 1, 2, 4]), columns=None)
    assert found == [("runs 2", 3), ("runs 1", 1)]


def test_what_decides_the_reason_is_asked_once() -> None:
    """However many hosts share it: the counts are exact."""
    words = Words()
    hosts = running(*([50] * 412 + [60] * 3))
    found = of_all(words, hosts, columns=("num_instances",), explained_max=2)
    assert found == [("runs 50", 412), ("runs 60", 3)]
    assert words.asked == 2


def test_two_columns_decide_together() -> None:
    """Equal in one and different in the other is another reason."""
    table = a_table([a_host(f"h{n}", num_instances=n % 2, num_io_ops=n // 2) for n in range(4)])
    words = Words()
    of_all(words, table, columns=("num_instances", "num_io_ops"))
    assert words.asked == 4


def test_one_reason_for_all_is_asked_once() -> None:
    """The filter says so with no columns."""
    words = Words("is elsewhere")
    assert of_all(words, running(1, 2, 3), columns=()) == [("is elsewhere", 3)]
    assert words.asked == 1


def test_of_many_hosts_some_are_asked() -> None:
    """Spread over all; the counts are the least that they may be."""
    words = Words()
    found = of_all(words, running(*([1] * 50 + [2] * 50)), explained_max=10)
    assert found == [("runs 1", 5), ("runs 2", 5)]
    assert words.asked == 10


def test_no_plugin_is_asked_when_none_may_be() -> None:
    """The option is zero."""
    words = Words()
    assert of_all(words, running(1, 2), columns=(), explained_max=0) == []
    assert words.asked == 0


def test_there_are_five_at_most() -> None:
    """The last stands for all others; nothing is lost."""
    found = of_all(Words(), running(1, 1, 2, 3, 4, 5, 6))
    assert found[0] == ("runs 1", 2)
    assert found[4] == ("other reasons", 2)
    assert (len(found), sum(count for _reason, count in found)) == (5, 7)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_filter_may_say_nothing(nothing: str | None) -> None:
    """Not even that it says nothing."""
    assert of_all(lambda _host: nothing, running(1, 2)) == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("host1 is full", "this host is full"),
        ("on host1.example.org", "on this host"),
        ("not host1-a, host11, ahost1", "not host1-a, host11, ahost1"),
        ("x" * 300, f"{'x' * 199}…"),
    ],
)
def test_users_may_read_what_is_said(said: str, shown: str) -> None:
    """No name of the host, and not much at a time."""
    assert of_all(lambda _host: said, running(1)) == [(shown, 1)]


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 70), st.booleans())
def test_no_count_is_more_than_there_are(
    instances: list[int], explained_max: int, by_column: bool
) -> None:
    """And nothing is missing when there was enough to ask them all."""
    words = Words()
    columns = ("num_instances",) if by_column else None
    found = of_all(words, running(*instances), columns=columns, explained_max=explained_max)
    assert words.asked <= explained_max
    for reason, count in found:
        if reason != "other reasons":
            assert count <= sum(reason == f"runs {each}" for each in instances)
    if explained_max >= len(instances):
        assert sum(count for _reason, count in found) == len(instances)
