"""Lists of several zones become one, weighed as one scheduler over all hosts would."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objects.request_spec import RequestSpec
from scheduler.hosts.host_state import HostState
from scheduler.weights import BaseHostWeigher, load_weighers
from scheduler.weights.ranking import RawWeights
from scheduler.zones.offers import Offers, as_answer, merge_offers, shares_of, weights_of
from tests.fixtures.plugins.examples import examples
from tests.fixtures.zones.zone_trees import Zone, flat_weights, sent
from tests.fleets import Clock, Host, a_host, a_request_spec, scheduling_conf

HERE = "tests.unit.scheduler.zones.test_offers"


class ShortNameWeigher(BaseHostWeigher):
    """A weigher as a deployment writes it: it likes short names."""

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return -float(len(host_state.host))


ONE_WEIGHER: dict[str, Any] = {"filter_scheduler__weight_classes": ["RAMWeigher"]}


def some_offers(ids: list[str], values: list[float], path: list[str] | None = None) -> Offers:
    raw = np.array(values, dtype=float).reshape(len(ids), 1)
    own = Offers.own(ids, RawWeights(["RAMWeigher"], raw, np.ones_like(raw)))
    return Offers(
        own.host_ids, [path or [] for _ in ids], own.weighers, own.raw, own.multipliers, own.bounds,
        own.is_fallback, own.adjustments,
    )  # fmt: skip


def weighers(**options: Any) -> list[BaseHostWeigher]:
    return load_weighers(scheduling_conf(**options))


def join(*parts: Offers, limit: int = 10) -> Offers:
    return merge_offers(parts, weighers(), limit=limit, rng=random.Random(1))


# Trees against one scheduler ----------------------------------------------------------------------

sizes = st.integers(1, 64).map(lambda gb: gb * 1024)


@st.composite
def made_up_hosts(draw: Any) -> Host:
    ram = draw(sizes)
    return a_host(
        draw(st.text("abc", min_size=1, max_size=6)),
        total_usable_ram_mb=ram,
        free_ram_mb=ram,
        num_instances=draw(st.integers(0, 5)),
        num_io_ops=draw(st.integers(0, 3)),
        failed_builds=draw(st.integers(0, 2)),
        hypervisor_version=draw(st.integers(1, 3)) * 10**6,
        vcpus_total=draw(st.integers(1, 32)),
    )


@st.composite
def trees(draw: Any, options: dict[str, Any], hosts: list[Host], depth: int = 3) -> Zone:
    """Give the hosts to the zones of a tree of any shape; a zone may have none."""
    clock = Clock()
    names = iter(f"zone{number}" for number in range(1000))

    def grown(rest: list[Host], levels: int) -> Zone:
        own = draw(st.integers(0, len(rest))) if levels > 1 else len(rest)
        below, left = [], rest[own:]
        while left:
            share = draw(st.integers(1, len(left)))
            below.append(grown(left[:share], levels - 1))
            left = left[share:]
        return Zone(next(names), rest[:own], below, clock=clock, **options)

    return grown(hosts, depth)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), hosts=st.lists(made_up_hosts(), min_size=1, max_size=12))
def test_a_tree_is_like_one_scheduler_when_nothing_is_cut_off(
    data: st.DataObject, hosts: list[Host]
) -> None:
    """BZ-45, BZ-46: with all weighers that are on by default, the weights are the very same."""
    spec = a_request_spec()
    tree = data.draw(trees({"zones__entries_max": 50}, hosts)).push_all()
    answer = tree.answer(spec, entries_max=50)
    found = Offers.of_child("any", answer)
    weights = dict(zip(found.host_ids, weights_of(found, weighers()).tolist(), strict=True))
    flat = flat_weights(hosts, spec)
    if len(hosts) > 1:
        assert weights == pytest.approx(flat, abs=1e-12)
    order = [flat[uuid] for uuid in answer.host_ids]
    assert order == pytest.approx(sorted(flat.values(), reverse=True), abs=1e-12)


@settings(max_examples=examples(40), deadline=None)
@given(
    data=st.data(), hosts=st.lists(made_up_hosts(), min_size=1, max_size=12), n=st.integers(1, 5)
)
def test_a_tree_has_the_best_n_of_one_scheduler_with_one_weigher(
    data: st.DataObject, hosts: list[Host], n: int
) -> None:
    """BZ-43, BZ-46: though every zone cuts its list to N. Equal weights are interchangeable."""
    options: dict[str, Any] = {**ONE_WEIGHER, "zones__entries_max": n}
    spec = a_request_spec()
    answer = data.draw(trees(options, hosts)).push_all().answer(spec, entries_max=n)
    flat = flat_weights(hosts, spec, **ONE_WEIGHER)
    best = sorted(flat.values(), reverse=True)[:n]
    assert [flat[uuid] for uuid in answer.host_ids] == pytest.approx(best)


@settings(max_examples=examples(40), deadline=None)
@given(
    data=st.data(), hosts=st.lists(made_up_hosts(), min_size=1, max_size=12), n=st.integers(1, 5)
)
def test_with_several_weighers_what_came_is_in_the_order_of_one_scheduler(
    data: st.DataObject, hosts: list[Host], n: int
) -> None:
    """BZ-46, the tolerance: a host may be missing, but no two are in the wrong order."""
    spec = a_request_spec()
    tree = data.draw(trees({"zones__entries_max": n}, hosts)).push_all()
    answer = tree.answer(spec, entries_max=n)
    flat = flat_weights(hosts, spec)
    order = [flat[uuid] for uuid in answer.host_ids]
    assert order == pytest.approx(sorted(order, reverse=True), abs=1e-12)
    assert len(order) == min(n, len(hosts))


def test_a_weigher_by_class_path_orders_the_tree() -> None:
    """BZ-49: weighings are the deployment's own."""
    options: dict[str, Any] = {"filter_scheduler__weight_classes": [f"{HERE}.ShortNameWeigher"]}
    clock = Clock()
    long = a_host("a-long-name")
    leaves = [
        Zone("one", [long], clock=clock, **options),
        Zone("two", [a_host("short"), a_host("x")], clock=clock, **options),
    ]
    root = Zone("root", [a_host("middling")], leaves, **options).push_all()
    names = {host.uuid: host.name for zone in (root, *leaves) for host in zone.hosts}
    entries = root.select().zone_entries
    assert [names[each["host_id"]] for each in entries] == [
        "x", "short", "middling", "a-long-name",
    ]  # fmt: skip


# One list of several ------------------------------------------------------------------------------


def test_the_best_of_all_come_first() -> None:
    """Wherever they are from."""
    found = join(some_offers(["a", "b"], [1, 5]), some_offers(["c", "d"], [3, 9], ["eu"]))
    assert found.host_ids == ["d", "b", "c", "a"]
    assert found.paths == [["eu"], [], ["eu"], []]


def test_a_host_that_comes_twice_is_there_once() -> None:
    """BZ-53: by the shortest path."""
    longer = some_offers(["a"], [1], ["x", "y"])
    found = join(longer, some_offers(["a"], [1], ["y"]), some_offers(["b"], [2]))
    assert (found.host_ids, found.paths) == (["b", "a"], [[], ["y"]])


def test_bounds_are_those_of_all_hosts_also_of_those_cut_off() -> None:
    """Else the weights of the next zone up would not be those of one scheduler."""
    first = join(some_offers(["a", "b"], [1, 5]), some_offers(["c"], [9]), limit=1)
    assert first.host_ids == ["c"]
    assert first.bounds.tolist() == [[1.0, 9.0]]
    answer = sent(as_answer(first, zones=[]))
    again = join(Offers.of_child("eu", answer), some_offers(["z"], [8]))
    assert weights_of(again, weighers()).tolist() == [1.0, 8 / 9]


def test_equal_hosts_are_in_no_order_of_zones() -> None:
    """So that not every request begins with the same one."""
    parts = [some_offers([f"{zone}{n}" for n in range(5)], [1] * 5, [zone]) for zone in "ab"]
    orders = {
        tuple(merge_offers(parts, weighers(), limit=3, rng=random.Random(seed)).host_ids)
        for seed in range(20)
    }
    assert {order[0][0] for order in orders} == {"a", "b"}


def test_a_weigher_that_weighs_nothing_in_one_zone_says_nothing_there() -> None:
    """Such as one whose multiplier is 0 there."""
    none = Offers.own(["x"], RawWeights([], np.zeros((1, 0)), np.zeros((1, 0))))
    found = join(some_offers(["a", "b"], [1, 5]), none)
    assert found.host_ids[0] == "b"
    assert found.bounds.tolist() == [[1.0, 5.0]]


def test_no_offers_are_none() -> None:
    """No zone has a host."""
    assert len(join(Offers.none(), Offers.none())) == 0
    assert sent(as_answer(Offers.none(), zones=[])).entries() == []


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"paths": []}, id="paths"),
        pytest.param({"raw": np.zeros((2, 2))}, id="raw"),
        pytest.param({"raw": np.full((1, 1), np.nan)}, id="not-a-number"),
        pytest.param({"bounds": np.zeros((2, 2))}, id="bounds"),
        pytest.param({"multipliers": np.full((1, 1), np.inf)}, id="infinite"),
        pytest.param({"paths": [["x"] * 100]}, id="endless-path"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(changed: dict[str, Any]) -> None:
    """It may be from a compromised zone."""
    answer = as_answer(some_offers(["a"], [1]), zones=[]).with_values(**changed)
    with pytest.raises(ValueError, match=r"."):
        Offers.of_child("eu", answer)


def test_a_host_that_comes_twice_takes_one_place() -> None:
    """BZ-53: the list is as long as without it."""
    found = join(some_offers(["a"], [9]), some_offers(["a", "b"], [9, 5], ["x"]), limit=2)
    assert found.host_ids == ["a", "b"]


def test_bounds_go_all_the_way_up() -> None:
    """Of what weighs against a host, the worst is cut off first."""
    raw = np.array([[1.0], [5.0], [9.0]])
    offers = Offers.own(["a", "b", "c"], RawWeights(["RAMWeigher"], raw, np.full_like(raw, -1.0)))
    leaf = join(offers, limit=1)
    middle = join(Offers.of_child("leaf", as_answer(leaf, zones=[])), limit=1)
    assert middle.host_ids == ["a"]
    assert middle.bounds.tolist() == [[1.0, 9.0]]


def test_fallback_hosts_of_any_zone_come_behind_all_others() -> None:
    """However much more they weigh; their zone's answer carries what they are."""
    raw = RawWeights(["RAMWeigher"], np.array([[9.0]]), np.ones((1, 1)))
    old = Offers.own(["old"], raw, np.array([True]))
    found = join(Offers.of_child("eu", as_answer(old, zones=[])), some_offers(["a", "b"], [1, 2]))
    assert found.host_ids == ["b", "a", "old"]
    assert found.is_fallback.tolist() == [False, False, True]


# What a parent makes of a child's weights


def test_a_parent_scales_and_shifts_a_childs_weights() -> None:
    """L14: offset + scale times the weight, at each level; the parts add up to the weight."""
    own, theirs = some_offers(["a", "b"], [1, 3]), some_offers(["c", "d"], [2, 5], ["eu"])
    assert join(own, theirs).host_ids == ["d", "b", "c", "a"]
    assert join(own, theirs.adjusted(0.4, 0.0)).host_ids == ["b", "d", "a", "c"]
    joined = join(own, theirs.adjusted(2.0, 1.0).adjusted(0.5, -1.2))
    weights = weights_of(joined, weighers()).tolist()
    assert joined.host_ids == ["b", "d", "a", "c"]
    assert weights == pytest.approx([0.6, 0.3, 0.2, -0.3])
    for row, weight in enumerate(weights):
        shares = shares_of(joined, weighers(), row)
        assert sum(share["weight"] or 0 for share in shares.values()) == pytest.approx(weight)


def test_adjustments_travel_with_an_answer() -> None:
    """A grandparent orders by what the parent made of them; malformed ones are refused."""
    adjusted = some_offers(["c"], [2], ["eu-1"]).adjusted(0.5, 7.0)
    answer = sent(as_answer(adjusted, zones=[]))
    assert Offers.of_child("eu", answer).adjustments.tolist() == [[0.5, 7.0]]
    for bad in (np.array([[np.nan, 0.0]]), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="adjustments"):
            Offers.of_child("eu", answer.with_values(adjustments=bad))
