"""The question as the engine works on it: demands, needs, and what is contested."""

import pytest

from placement.candidates.problem import problem_of
from placement.candidates.query import Group, Query


def test_each_class_of_the_group_without_suffix_is_a_demand() -> None:
    """Groups with a suffix stay whole."""
    problem = problem_of(
        Query((Group({"VCPU": 1, "DISK_GB": 2}), Group({"PGPU": 1, "VGPU": 1}, suffix="_A")))
    )
    assert [(demand.suffix, demand.resources) for demand in problem.demands] == [
        ("", {"VCPU": 1}),
        ("", {"DISK_GB": 2}),
        ("_A", {"PGPU": 1, "VGPU": 1}),
    ]
    assert problem.is_split
    assert problem.totals == {"VCPU": 1, "DISK_GB": 2, "PGPU": 1, "VGPU": 1}


def test_groups_that_ask_the_same_have_one_need() -> None:
    """The group without suffix has other rules for aggregates, so it has one of its own."""
    groups = (
        Group({"PGPU": 1}),
        Group({"PGPU": 1}, suffix="_A"),
        Group({"PGPU": 1}, suffix="_B"),
        Group({"PGPU": 2}, suffix="_C"),
    )
    assert [demand.need for demand in problem_of(Query(groups)).demands] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("suffixes", "is_isolated", "contested"),
    [
        (["_A", "_B"], False, ("VCPU",)),
        (["_A", "_B"], True, ()),
        (["", "_A"], True, ("VCPU",)),
        ([""], False, ()),
    ],
    ids=["none", "isolate", "the group without suffix", "alone"],
)
def test_a_class_is_contested_if_groups_may_take_it_of_one_provider(
    suffixes: list[str], is_isolated: bool, contested: tuple[str, ...]
) -> None:
    """Isolated groups may share one with the group without suffix only."""
    groups = tuple(Group({"VCPU": 1}, suffix=suffix) for suffix in suffixes)
    assert problem_of(Query(groups, is_isolated=is_isolated)).contested == contested


def test_subtrees_of_one_group_are_none() -> None:
    """A provider is in its own subtree."""
    groups = (Group({"VCPU": 1}, suffix="_A"), Group({"PGPU": 1}, suffix="_B"))
    subtrees = (frozenset(["_A"]), frozenset(["_B", "_A"]))
    assert problem_of(Query(groups, same_subtrees=subtrees)).same_subtrees == ((0, 1),)
