"""Questions: what is understood, and what is refused with which words."""

from typing import Any

import pytest

from armillary import exception
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.candidates import query as queries
from tests.builders import a_query, a_uuid

AGGREGATE = "c0ffee00-0000-4000-8000-00000000000a"


def test_a_question_is_taken_apart_into_sound_parts() -> None:
    """Everything that was asked is there."""
    asked = a_query(
        limit=5,
        resources={"VCPU": 2},
        required_traits=[["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]],
        forbidden_traits=["COMPUTE_STATUS_DISABLED"],
        member_of=[[AGGREGATE]],
        forbidden_aggregates=[AGGREGATE],
        in_tree=AGGREGATE,
    )
    assert queries.parse(asked) == queries.Query(
        groups=(
            queries.Group(
                resources={"VCPU": 2},
                required_traits=(("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"),),
                forbidden_traits=("COMPUTE_STATUS_DISABLED",),
                member_of=((AGGREGATE,),),
                forbidden_aggregates=(AGGREGATE,),
                in_tree=AGGREGATE,
            ),
        ),
        limit=5,
    )


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"resources": {}}, "one request group must have resources"),
        ({"resources": {"CPUS": 1}}, "no resource class CPUS"),
        ({"resources": {"VCPU": 0}}, "amount of VCPU must be from 1"),
        ({"resources": {"VCPU": 2**53 + 1}}, "amount of VCPU must be from 1"),
        ({"required_traits": [["FAST"]]}, "no trait FAST"),
        ({"required_traits": [[]]}, "required_traits must be a list of lists"),
        ({"required_traits": "FAST"}, "required_traits must be a list of lists"),
        ({"forbidden_traits": ["FAST"]}, "no trait FAST"),
        ({"member_of": [["ssd"]]}, "UUID of an aggregate must be"),
        ({"member_of": [[]]}, "member_of must be a list of lists"),
        ({"forbidden_aggregates": ["ssd"]}, "UUID of an aggregate must be"),
        (
            {"required_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_A", "CUSTOM_B"]},
            "CUSTOM_A is both required and forbidden",
        ),
    ],
)
def test_a_group_that_makes_no_sense_is_refused_by_name(group: dict[str, Any], words: str) -> None:
    """The error says what was wrong."""
    with pytest.raises(exception.InvalidResourceQuery, match=words):
        queries.parse(a_query(**group))


@pytest.mark.parametrize("limit", [0, -1, 2**31])
def test_a_limit_out_of_bounds_is_refused(limit: int) -> None:
    """At least one answer must be wanted."""
    with pytest.raises(exception.InvalidResourceQuery, match="limit"):
        queries.parse(a_query(limit=limit))


def a_granular_query(*suffixes: str, **values: Any) -> ResourceQuery:
    """Ask for one vCPU in each of some groups; suffixes that end in ? are without resources."""
    groups = [
        RequestGroup.from_values(
            suffix=suffix.rstrip("?"), resources={} if suffix.endswith("?") else {"VCPU": 1}
        )
        for suffix in suffixes
    ]
    return ResourceQuery.from_values(**{"groups": groups, "group_policy": "none", **values})


def test_a_question_of_several_groups_keeps_what_ties_them_together() -> None:
    """Policy, subtrees, traits of the root, and what old clients expect."""
    asked = a_granular_query(
        "", "_A", "_B?",
        group_policy="isolate",
        same_subtree=[["_A", "_B", "_A"]],
        root_required=["CUSTOM_A"],
        root_forbidden=["CUSTOM_B"],
        is_nested=False,
    )  # fmt: skip
    parsed = queries.parse(asked)
    assert [group.suffix for group in parsed.groups] == ["", "_A", "_B"]
    assert parsed.is_isolated
    assert parsed.same_subtrees == (frozenset(["_A", "_B"]),)
    assert (parsed.root_required, parsed.root_forbidden) == (("CUSTOM_A",), ("CUSTOM_B",))
    assert not parsed.is_nested


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (a_granular_query(), "at least one request group must have resources"),
        (a_granular_query("_A?", same_subtree=[["_A"]]), "at least one request group"),
        (a_granular_query("_A", "_A"), "duplicate request group with suffix _A"),
        (a_granular_query("", ""), "duplicate request group without suffix"),
        (a_granular_query("_A", "_B?"), "with suffix _B must name at least one resource class"),
        (a_granular_query("_A", "_B", group_policy=None), "group_policy is required"),
        (a_granular_query("_A", group_policy="apart"), "none or isolate, not apart"),
        (a_granular_query("_A", same_subtree=[["_B"]]), "names '_B'"),
        (a_granular_query("", "_A", same_subtree=[[""]]), "names ''"),
        (a_granular_query("_A", same_subtree=["_A"]), "same_subtree must be a list of lists"),
        (a_granular_query("_A", same_subtree=[[]]), "same_subtree must be a list of lists"),
        (a_granular_query("_A", root_required=["FAST"]), "no trait FAST"),
        (
            a_granular_query("_A", root_required=["CUSTOM_A"], root_forbidden=["CUSTOM_A"]),
            "CUSTOM_A of the root is both",
        ),
        (a_granular_query(*map(str, range(101))), "101 request groups were given; at most 100"),
        (
            a_query(resources={f"CUSTOM_{number}": 1 for number in range(101)}),
            "101 resource classes in a group; at most 100",
        ),
    ],
)  # fmt: skip
def test_groups_that_make_no_sense_together_are_refused(asked: ResourceQuery, words: str) -> None:
    """The error says which, and what was wrong."""
    with pytest.raises(exception.InvalidResourceQuery, match=words):
        queries.parse(asked)


@pytest.mark.parametrize(
    "asked",
    [a_granular_query("_A", group_policy=None), a_granular_query("", "_A", group_policy=None)],
    ids=["alone", "beside the one without suffix"],
)
def test_one_group_with_a_suffix_needs_no_policy(asked: ResourceQuery) -> None:
    """There is nothing to isolate it from."""
    assert not queries.parse(asked).is_isolated


def test_any_of_several_traits_may_include_a_forbidden_one() -> None:
    """The others still do."""
    asked = a_query(required_traits=[["CUSTOM_A", "CUSTOM_B"]], forbidden_traits=["CUSTOM_A"])
    assert queries.parse(asked).groups[0].forbidden_traits == ("CUSTOM_A",)


def test_an_unused_custom_name_is_not_a_mistake() -> None:
    """It rules out every provider, which is an answer."""
    asked = a_query(resources={"CUSTOM_X": 1}, in_tree=a_uuid())
    assert queries.parse(asked).groups[0].resources == {"CUSTOM_X": 1}
