"""Entries: the providers within reach of each tree, and what counting them rules out."""

import numpy as np

from placement.candidates.eligible import Eligible, find_eligible
from placement.candidates.entries import Entries, gather, may_have_enough
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.problem import Problem, problem_of
from placement.candidates.query import Group, Query
from placement.providers.provider_table import ProviderTable
from placement.providers.sharing import SHARING_TRAIT
from tests.fixtures.placement.placement_scenes import Scene
from tests.fixtures.placement.placement_tables import a_table


def a_table_of_two_trees() -> ProviderTable:
    """Return trees a and b, to which a disk is lent that is a tree of its own."""
    scene = Scene()
    for name, count in (("a", 2), ("b", 1)):
        scene.add(name, {"VCPU": 4}, aggregates=["rack"])
        for device in range(count):
            scene.add(f"{name}{device}", {"PGPU": 2}, parent=name)
    scene.add("disk", {"DISK_GB": 10}, aggregates=["rack"], traits=[SHARING_TRAIT])
    return a_table(scene)


def look(
    table: ProviderTable, *groups: Group, is_isolated: bool = False
) -> tuple[Problem, Eligible, Entries]:
    query = Query(groups, is_isolated=is_isolated)
    problem = problem_of(query)
    eligible = find_eligible(table, query, problem, Funnel(table, Reach(table)))
    return problem, eligible, gather(table, eligible)


def by_tree(entries: Entries) -> dict[int, list[int]]:
    return {
        anchor: entries.rows[start : start + count].tolist()
        for anchor, start, count in zip(
            entries.anchors.tolist(), entries.starts.tolist(), entries.counts.tolist(), strict=True
        )
    }


def test_a_tree_has_its_own_providers_and_those_lent_to_it() -> None:
    """If they can serve something."""
    table = a_table_of_two_trees()
    _, _, entries = look(table, Group({"PGPU": 1}, suffix="_A"), Group({"DISK_GB": 1}))
    assert by_tree(entries) == {0: [1, 2, 5], 3: [4, 5], 5: [5]}


def test_some_trees_are_taken_in_any_order() -> None:
    """With their providers."""
    table = a_table_of_two_trees()
    _, _, entries = look(table, Group({"PGPU": 1}, suffix="_A"), Group({"DISK_GB": 1}))
    assert [*by_tree(entries.only(np.array([2, 0]))).items()] == [(5, [5]), (0, [1, 2, 5])]
    assert by_tree(entries.only(np.empty(0, np.intp))) == {}


def test_a_tree_without_the_providers_left_out_may_be_none() -> None:
    """Then it is left out, too."""
    table = a_table_of_two_trees()
    _, _, entries = look(table, Group({"PGPU": 1}, suffix="_A"), Group({"DISK_GB": 1}))
    is_sharing = table.sharing.is_shared(table.size)
    assert by_tree(entries.without(is_sharing)) == {0: [1, 2], 3: [4]}


def test_counting_rules_out_trees_with_too_few_servers_or_too_little_left() -> None:
    """Isolated groups need a server each, others may share one as long as there is room."""
    table = a_table_of_two_trees()
    two = (Group({"PGPU": 1}, suffix="_A"), Group({"PGPU": 1}, suffix="_B"))
    problem, eligible, entries = look(table, *two, is_isolated=True)
    assert may_have_enough(table, problem, eligible, entries).tolist() == [True, False]
    problem, eligible, entries = look(table, *two)
    assert may_have_enough(table, problem, eligible, entries).tolist() == [True, True]
    problem, eligible, entries = look(table, *two, Group({"PGPU": 1}, suffix="_C"))
    assert may_have_enough(table, problem, eligible, entries).tolist() == [True, False]
    problem, eligible, entries = look(table, *two, Group({"DISK_GB": 1}))
    assert may_have_enough(table, problem, eligible, entries).tolist() == [True, True, False]
