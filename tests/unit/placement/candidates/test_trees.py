"""Candidates of trees and sharing providers: each once, lazily, in the order of the strategy."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from objects.traces.explanation import Rejection
from placement.candidates import find_candidates
from placement.candidates.query import Group, Query
from placement.candidates.result import Found
from placement.candidates.strategy import Strategy
from placement.providers.provider_table import ProviderTable
from placement.providers.sharing import SHARING_TRAIT
from tests.fixtures.placement.placement_scenes import Scene, uuid_of
from tests.fixtures.placement.placement_tables import a_table, candidates_of, names_of


def a_scene(hosts: int = 1, devices: int = 3) -> Scene:
    """Return hosts with devices of one unit below each."""
    scene = Scene()
    for host in range(hosts):
        scene.add(f"host{host}", {"VCPU": 8})
        for device in range(devices):
            scene.add(f"gpu{host}.{device}", {"PGPU": 1}, parent=f"host{host}")
    return scene


def devices_query(count: int, *, is_isolated: bool = True, limit: int | None = None) -> Query:
    """Ask for one device in each of some groups."""
    groups = tuple(Group({"PGPU": 1}, suffix=f"_{index}") for index in range(count))
    return Query(groups, is_isolated=is_isolated, limit=limit)


def trees_of(table: ProviderTable, found: Found) -> list[str]:
    """Return the host of each candidate, in the order of the answer."""
    return [table.uuids[row] for batch in found.batches for row in batch.anchors]


@pytest.mark.parametrize("is_isolated", [True, False], ids=["isolate", "none"])
def test_every_assignment_of_equal_devices_is_there_once(is_isolated: bool) -> None:
    """A candidate tells which device serves which group."""
    table = a_table(a_scene())
    answer = candidates_of(table, find_candidates(table, devices_query(2, is_isolated=is_isolated)))
    assert len({*answer}) == len(answer) == 6


def test_all_ways_to_use_eight_devices_are_one_batch() -> None:
    """8! of them, and no two alike."""
    table = a_table(a_scene(devices=8))
    (batch,) = find_candidates(table, devices_query(8)).batches
    assert batch.providers.shape == (40_320, 8)
    assert len(np.unique(batch.providers, axis=0)) == 40_320


def test_an_excluded_resource_leaves_out_the_whole_tree() -> None:
    """Whichever of its providers has the inventory."""
    scene = a_scene(hosts=2, devices=1)
    scene.add("numa0", {"PCPU": 4}, parent="host0")
    table = a_table(scene)
    found = find_candidates(table, Query((Group({"VCPU": 1}),), without_resources=("PCPU",)))
    assert trees_of(table, found) == [uuid_of("host1")]
    assert found.ruled_out == [Rejection("forbidden_resource", "PCPU", 1)]


@pytest.mark.parametrize("is_isolated", [True, False], ids=["isolate", "none"])
def test_more_groups_than_devices_find_nothing_and_say_why(is_isolated: bool) -> None:
    """Each group has a server, all of them together have not."""
    query = devices_query(9, is_isolated=is_isolated)
    found = find_candidates(a_table(a_scene(hosts=3, devices=8)), query)
    name = "group_policy=isolate" if is_isolated else "the sum of PGPU"
    assert found.ruled_out == [Rejection("combination", name, 3)]


def test_depth_first_takes_one_tree_after_the_other() -> None:
    """The last one as far as the limit goes."""
    table = a_table(a_scene(hosts=3))
    found = find_candidates(table, devices_query(2, limit=8))
    assert [*Counter(trees_of(table, found)).values()] == [6, 2]


def test_breadth_first_takes_trees_in_turn() -> None:
    """One candidate of each, then a second one."""
    table = a_table(a_scene(hosts=3))
    found = find_candidates(table, devices_query(2, limit=7), Strategy(is_breadth_first=True))
    assert sorted(Counter(trees_of(table, found)).values()) == [2, 2, 3]
    assert len({*trees_of(table, found)[:3]}) == 3


def test_breadth_first_goes_on_where_others_have_no_more() -> None:
    """A tree with few candidates gives these."""
    scene = a_scene(hosts=2)
    scene.add("small", {"VCPU": 8})
    scene.add("small.gpu", {"PGPU": 1}, parent="small")
    table = a_table(scene)
    found = find_candidates(table, devices_query(1, limit=6), Strategy(is_breadth_first=True))
    assert sorted(Counter(trees_of(table, found)).values()) == [1, 2, 3]


def test_a_random_source_makes_a_limited_answer_a_sample() -> None:
    """Every tree and every device has its chance, under both strategies."""
    scene = a_scene(hosts=2)
    table = a_table(scene)
    for is_breadth_first in (False, True):
        seen = Counter(
            names_of(scene, table, find_candidates(table, devices_query(1, limit=1), strategy))[0]
            for strategy in (
                Strategy(is_breadth_first, rng=np.random.default_rng(seed)) for seed in range(150)
            )
        )
        assert len(seen) == 6
        assert min(seen.values()) > 10


def test_equal_hosts_with_one_shared_disk_are_one_batch() -> None:
    """However many they are, and whatever else is in use on them."""
    scene = Scene()
    for host in range(50):
        scene.add(f"host{host}", {"VCPU": 8 + host}, aggregates=["rack"])
    scene.add("disk", {"DISK_GB": 100}, aggregates=["rack"], traits=[SHARING_TRAIT])
    found = find_candidates(a_table(scene), Query((Group({"VCPU": 1, "DISK_GB": 1}),)))
    (batch,) = found.batches
    assert batch.providers.shape == (50, 2)
    assert batch.mappings == {"": (0, 1)}


def test_a_candidate_of_sharing_providers_alone_counts_once() -> None:
    """Though every tree that they share with finds it."""
    scene = Scene()
    for host in range(5):
        scene.add(f"host{host}", {"VCPU": 8}, aggregates=["rack"])
    for disk in ("disk1", "disk2"):
        scene.add(disk, {"DISK_GB": 100}, aggregates=["rack"], traits=[SHARING_TRAIT])
    table = a_table(scene)
    groups = (Group({"DISK_GB": 1}, suffix="1"), Group({"DISK_GB": 2}, suffix="2"))
    found = find_candidates(table, Query(groups, is_isolated=True))
    assert sorted(names_of(scene, table, found)) == ["disk1+disk2", "disk2+disk1"]
    assert found.ruled_out == []


def test_a_tree_is_counted_where_its_last_server_fails() -> None:
    """Counts are of trees, plain providers being trees of one."""
    scene = a_scene(hosts=2)
    scene.add("plain", {"VCPU": 8})
    scene.add("small", {"VCPU": 1})
    groups = (Group({"VCPU": 2}), Group({"PGPU": 1}, suffix="1"))
    found = find_candidates(a_table(scene), Query(groups))
    assert (found.count, found.providers_total) == (6, 4)
    assert found.ruled_out == [
        Rejection("resource", "VCPU", 1, asked=2, best=1),
        Rejection("resource", "PGPU", 1, asked=1, best=0),
    ]


def test_an_answer_cut_short_counts_no_combinations() -> None:
    """The search did not look at the other trees."""
    found = find_candidates(a_table(a_scene(hosts=3)), devices_query(2, limit=1))
    assert found.ruled_out == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["numa0+gpu0", "numa0+gpu1", "numa1+gpu0", "numa1+gpu1"]),
        ({"same_subtrees": (frozenset(["_A", "_B"]),)}, ["numa0+gpu0", "numa1+gpu1"]),
        ({"root_required": ("CUSTOM_A",)}, []),
        ({"is_nested": False}, []),
    ],
    ids=["anywhere in the tree", "same_subtree", "trait of the root", "old clients"],
)
def test_what_is_asked_of_providers_together_narrows_the_answer(
    values: dict[str, Any], expected: list[str]
) -> None:
    """Beyond what each group asks of its own."""
    scene = Scene()
    scene.add("host")
    for node in range(2):
        scene.add(f"numa{node}", {"VCPU": 8}, parent="host", traits=["CUSTOM_A"])
        scene.add(f"gpu{node}", {"PGPU": 1}, parent=f"numa{node}")
    table = a_table(scene)
    groups = (Group({"VCPU": 1}, suffix="_A"), Group({"PGPU": 1}, suffix="_B"))
    found = find_candidates(table, Query(groups, **values))
    assert sorted(names_of(scene, table, found)) == expected
