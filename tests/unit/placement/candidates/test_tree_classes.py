"""Kinds of trees: what makes two trees alike for a question, and what does not."""

from typing import Any

import pytest

from placement.candidates.eligible import find_eligible
from placement.candidates.entries import gather
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.problem import problem_of
from placement.candidates.query import Group, Query
from placement.candidates.tree_classes import TreeClass, TreeClassFinder
from tests.fixtures.placement.placement_scenes import Scene, uuid_of
from tests.fixtures.placement.placement_tables import a_table

GPU = Group({"PGPU": 1}, suffix="_A")
GPU_TOO = Group({"PGPU": 1}, suffix="_B")
CPU = Group({"VCPU": 1}, suffix="_C")


def a_scene() -> Scene:
    """Return two hosts with two NUMA nodes and four devices of one unit each."""
    scene = Scene()
    for host in "ab":
        scene.add(host)
        for node in range(2):
            scene.add(f"{host}{node}", {"VCPU": 8}, parent=host)
            for device in range(2):
                scene.add(f"{host}{node}{device}", {"PGPU": 1}, parent=f"{host}{node}")
    return scene


def kinds_of(scene: Scene, *groups: Group, **values: Any) -> tuple[list[int], list[TreeClass]]:
    """Return the kind of each tree, and what the kinds are."""
    table = a_table(scene)
    query = Query(groups, **values)
    problem = problem_of(query)
    eligible = find_eligible(table, query, problem, Funnel(table, Reach(table)))
    finder = TreeClassFinder(table, problem, eligible, None)
    found: dict[int, int] = {}
    for positions, kinds, _ in finder.sort(gather(table, eligible)):
        found |= dict(zip(positions.tolist(), kinds, strict=True))
    return [kind for _, kind in sorted(found.items())], finder.kinds


def use(scene: Scene, name: str, resource_class: str, amount: int) -> None:
    scene[uuid_of(name)].used[resource_class] = amount


def test_equal_trees_are_of_one_kind() -> None:
    """Only providers that can serve something are part of it."""
    numbers, (kind,) = kinds_of(a_scene(), GPU, GPU_TOO)
    assert numbers == [0, 0]
    assert len(kind.nodes) == 4
    assert {*kind.above} == {-1}


def test_it_does_not_matter_which_device_is_in_use() -> None:
    """Nor how much is used of what is there in plenty."""
    scene = a_scene()
    use(scene, "a00", "PGPU", 1)
    use(scene, "b11", "PGPU", 1)
    use(scene, "b0", "VCPU", 3)
    assert kinds_of(scene, GPU, CPU)[0] == [0, 0]


def test_below_different_providers_devices_differ_for_a_subtree() -> None:
    """Then each knows the one above it, and siblings stand side by side."""
    scene = a_scene()
    numbers, (kind,) = kinds_of(scene, GPU, CPU, same_subtrees=(frozenset(["_A", "_C"]),))
    assert numbers == [0, 0]
    assert kind.above == (-1, -1, 0, 0, 1, 1)
    use(scene, "a00", "PGPU", 1)
    use(scene, "b01", "PGPU", 1)
    numbers, _ = kinds_of(scene, GPU, CPU, same_subtrees=(frozenset(["_A", "_C"]),))
    assert numbers == [0, 0]


@pytest.mark.parametrize(
    "change",
    [("a00", "PGPU", 1), ("a0", "VCPU", 7)],
    ids=["a device less", "too little left for both"],
)
def test_less_to_serve_with_is_another_kind(change: tuple[str, str, int]) -> None:
    """A plan for one would not do for the other."""
    scene = a_scene()
    use(scene, *change)
    more = Group({"VCPU": 1}, suffix="_D")
    assert len({*kinds_of(scene, GPU, CPU, more)[0]}) == 2


def test_what_is_left_matters_only_if_groups_may_share_it() -> None:
    """Isolated groups never do."""
    scene = a_scene()
    use(scene, "a0", "VCPU", 7)
    more = Group({"VCPU": 1}, suffix="_D")
    assert kinds_of(scene, CPU, more, is_isolated=True)[0] == [0, 0]


def test_many_needs_do_not_outgrow_a_number() -> None:
    """Seventy different groups have more bits than a machine word."""
    groups = [
        Group({"VCPU": 1}, suffix=f"_{index}", forbidden_traits=(f"CUSTOM_{index}",))
        for index in range(70)
    ]
    scene = a_scene()
    scene[uuid_of("a0")].traits.add("CUSTOM_69")
    numbers, kinds = kinds_of(scene, *groups)
    assert numbers == [0, 1]
    assert sorted(node.needs.bit_count() for node in kinds[0].nodes) == [69, 70]
