"""Weights are normalised, multiplied and added up; the ranking follows changes of single hosts."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from objects.request_spec import RequestSpec
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.loading import PluginFailed
from scheduler.weights import BaseHostWeigher, Numbers
from scheduler.weights.ranking import Ranking, _best, _Shortlist
from tests.builders import an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata


class FreeWeigher(BaseHostWeigher):
    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.free_ram_mb)


class FreeFromZeroWeigher(FreeWeigher):
    minval: ClassVar[float | None] = 0.0


class FreeBetweenWeigher(FreeWeigher):
    minval: ClassVar[float | None] = 2.0
    maxval: ClassVar[float | None] = 6.0


class AvoidFreeWeigher(FreeWeigher):
    multiplier_option = "ram_weight_multiplier"
    multiplier_sign = -1


def all_in(hosts: HostTable) -> Any:
    return np.ones(len(hosts), dtype=np.bool_)


def ranking_of(
    free: list[int], *classes: type[BaseHostWeigher], cluster_metadata: Any = None, **options: Any
) -> Ranking:
    conf = scheduling_conf(**options)
    hosts = a_table(
        [a_host(f"host{index}", free_ram_mb=value) for index, value in enumerate(free)],
        cluster_metadata=cluster_metadata,
    )
    return Ranking([each(conf) for each in classes], hosts, a_request_spec(), all_in(hosts))


def norms(free: list[int], each: type[BaseHostWeigher]) -> list[float]:
    ranking = ranking_of(free, each)
    return [ranking.ranked(position).weight for position in range(len(free))]


@pytest.mark.parametrize(
    ("free", "each", "expected"),
    [
        ([5, 5, 5], FreeFromZeroWeigher, [1, 1, 1]),
        ([5, 10], FreeFromZeroWeigher, [0.5, 1]),
        ([-5, 10], FreeFromZeroWeigher, [0, 1]),
        ([0, 0], FreeFromZeroWeigher, [0, 0]),
        ([5, 10], FreeWeigher, [0, 1]),
        ([5, 5], FreeWeigher, [0, 0]),
        ([1, 4, 9], FreeBetweenWeigher, [0, 0.5, 1]),
    ],
)
def test_weights_are_normalised_over_the_hosts(
    free: list[int], each: type[BaseHostWeigher], expected: list[float]
) -> None:
    """From the least or the bound below to the greatest or the bound above."""
    assert norms(free, each) == expected


@pytest.mark.parametrize("free", [[], [5]], ids=len)
def test_without_a_choice_nothing_is_weighed(free: list[int]) -> None:
    """One host is the best of one."""
    ranking = ranking_of(free, FreeFromZeroWeigher)
    assert ranking.best(3).tolist() == list(range(len(free)))
    assert [ranking.ranked(position).weight for position in range(len(free))] == [0.0] * len(free)


def test_weights_add_up_and_each_has_its_share() -> None:
    """Raw, normalised, multiplied: the sum of these is the weight."""
    ranking = ranking_of(
        [5, 10], FreeWeigher, AvoidFreeWeigher, filter_scheduler__ram_weight_multiplier=3.0
    )
    assert ranking.ranked(1).shares == {
        "FreeWeigher": {"raw": 10.0, "normalised": 1.0, "weight": 1.0},
        "AvoidFreeWeigher": {"raw": 10.0, "normalised": 1.0, "weight": -3.0},
    }
    assert ranking.ranked(1).weight == -2.0


def test_an_aggregate_overrides_the_multiplier_of_its_hosts() -> None:
    """The sign of the weigher stays."""
    ssd = an_aggregate(hosts=["host1"], metadata={"ram_weight_multiplier": "0.5"})
    ranking = ranking_of(
        [5, 10, 10], AvoidFreeWeigher, cluster_metadata=some_cluster_metadata([ssd])
    )
    assert [ranking.ranked(position).weight for position in range(3)] == [0.0, -0.5, -1.0]


def test_weights_that_would_be_infinite_exclude_no_host() -> None:
    """Multipliers of aggregates that do not add up to a number are ignored."""
    huge = an_aggregate(hosts=["host0", "host1"], metadata={"ram_weight_multiplier": "1e308"})
    ranking = ranking_of(
        [5, 10], AvoidFreeWeigher, AvoidFreeWeigher,
        cluster_metadata=some_cluster_metadata([huge]),
    )  # fmt: skip
    assert ranking.best(2).tolist() == [0, 1]


def test_the_best_come_first_and_ties_in_the_order_of_candidates() -> None:
    """However many are asked for."""
    ranking = ranking_of([1, 9, 5, 9, 5], FreeWeigher)
    assert [ranking.best(count).tolist() for count in (0, 1, 2, 3, 9)] == [
        [],
        [1],
        [1, 3],
        [1, 3, 2],
        [1, 3, 2, 4, 0],
    ]
    assert ranking.ties().tolist() == [1, 3]


def test_the_best_of_some() -> None:
    """Alternates are asked for by cell."""
    ranking = ranking_of([1, 9, 5], FreeWeigher)
    assert ranking.best(2, among=np.array([True, False, True])).tolist() == [2, 0]


def test_a_host_that_is_out_is_never_among_the_best() -> None:
    """Nor does it set the scale."""
    ranking = ranking_of([1, 9, 5], FreeWeigher)
    ranking.change(1, is_in=False)
    assert ranking.best(3).tolist() == [2, 0]
    assert ranking.ranked(2).weight == 1.0
    assert ranking.ties().tolist() == [2]
    for position in (0, 2):
        ranking.change(position, is_in=False)
    assert ranking.ties().tolist() == []


class RaisingWeigher(BaseHostWeigher):
    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        raise KeyError("scale")


class InfiniteWeigher(BaseHostWeigher):
    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return math.inf


class ShortWeigher(BaseHostWeigher):
    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        return np.ones(1)


class LaterInfiniteWeigher(InfiniteWeigher):
    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        return np.ones(len(hosts))


class LaterRaisingWeigher(RaisingWeigher):
    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        return np.ones(len(hosts))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (RaisingWeigher, "RaisingWeigher failed: KeyError: 'scale'"),
        (InfiniteWeigher, "InfiniteWeigher failed: a weight is not a finite number"),
        (ShortWeigher, r"ShortWeigher failed: host_weights returned shape \(1,\) for 2 hosts"),
    ],
)
def test_a_broken_weigher_is_named(broken: type[BaseHostWeigher], message: str) -> None:
    """Its defect is not a weight."""
    with pytest.raises(PluginFailed, match=message):
        ranking_of([1, 2], broken)


@pytest.mark.parametrize("broken", [LaterInfiniteWeigher, LaterRaisingWeigher])
def test_a_weigher_that_breaks_later_is_named(broken: type[BaseHostWeigher]) -> None:
    """When a single host is weighed again."""
    ranking = ranking_of([1, 2, 3], broken)
    with pytest.raises(PluginFailed, match=broken.__name__):
        ranking.change(0, is_in=True)


FREE = st.integers(-3, 6)


@given(
    free=st.lists(FREE, min_size=1, max_size=8),
    changes=st.lists(
        st.tuples(st.integers(0, 7), FREE, st.sampled_from([True, True, False])), max_size=12
    ),
)
def test_changes_one_by_one_are_the_same_as_weighing_again(
    free: list[int], changes: list[tuple[int, int, bool]]
) -> None:
    """To the last bit of every weight."""
    conf = scheduling_conf()
    some = a_table([a_host(f"host{index}", free_ram_mb=value) for index, value in enumerate(free)])
    now_free = np.array(free)
    hosts = HostTable(some.snapshot, some.rows, {"free_ram_mb": now_free})
    weighers = [
        each(conf)
        for each in (FreeWeigher, FreeFromZeroWeigher, FreeBetweenWeigher, AvoidFreeWeigher)
    ]
    spec, is_in = a_request_spec(), all_in(hosts)
    ranking = Ranking(weighers, hosts, spec, is_in)
    for position, value, stays in changes:
        if position >= len(free):
            continue
        now_free[position] = value
        is_in[position] &= stays
        ranking.change(position, bool(is_in[position]))
        fresh = Ranking(weighers, hosts, spec, is_in)
        assert [ranking.ranked(each).weight for each in range(len(free))] == [
            fresh.ranked(each).weight for each in range(len(free))
        ]
        assert ranking.best(9).tolist() == fresh.best(9).tolist()
        assert [ranking.ranked(each).shares for each in np.flatnonzero(is_in).tolist()] == [
            fresh.ranked(each).shares for each in np.flatnonzero(is_in).tolist()
        ]


@given(
    totals=st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1, max_size=12),
    changes=st.lists(
        st.tuples(st.integers(0, 11), st.sampled_from([-math.inf, 0.0, 1.5, 2.0, 9.0])), max_size=12
    ),
    size=st.integers(1, 6),
    count=st.integers(1, 3),
)
@example(totals=[3.0, 2.0, 1.0], changes=[(2, 9.0)], size=2, count=1)
def test_a_shortlist_names_the_best_or_says_that_it_cannot(
    totals: list[float], changes: list[tuple[int, float]], size: int, count: int
) -> None:
    """Whatever changed since it was made, ties in the order of the candidates."""
    now = np.array(totals)
    shortlist = _Shortlist(now, size)
    for position, total in changes:
        if position >= len(now):
            continue
        now[position] = total
        shortlist.note(position)
        wanted = min(count, int(np.count_nonzero(now > -math.inf)))
        found = shortlist.best(wanted) if wanted else None
        if found is not None:
            assert found.tolist() == _best(now, len(found)).tolist()
