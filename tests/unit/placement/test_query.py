"""Questions: what is understood, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest

from armillary import exception
from objects.resource_query import RequestGroup, ResourceQuery
from placement import query as queries
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
        group=queries.Group(
            resources={"VCPU": 2},
            required_traits=(("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"),),
            forbidden_traits=("COMPUTE_STATUS_DISABLED",),
            member_of=((AGGREGATE,),),
            forbidden_aggregates=(AGGREGATE,),
            in_tree=AGGREGATE,
        ),
        limit=5,
    )


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"resources": {}}, "at least one resource class"),
        ({"resources": {"CPUS": 1}}, "no resource class CPUS"),
        ({"resources": {"VCPU": 0}}, "amount of VCPU must be from 1"),
        ({"resources": {"VCPU": 2**31}}, "amount of VCPU must be from 1"),
        ({"required_traits": [["FAST"]]}, "no trait FAST"),
        ({"required_traits": [[]]}, "required_traits must be a list of lists"),
        ({"required_traits": "FAST"}, "required_traits must be a list of lists"),
        ({"forbidden_traits": ["FAST"]}, "no trait FAST"),
        ({"member_of": [["ssd"]]}, "named by its UUID"),
        ({"member_of": [[]]}, "member_of must be a list of lists"),
        ({"forbidden_aggregates": ["ssd"]}, "named by its UUID"),
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


@pytest.mark.parametrize("suffixes", [[], ["_GPU"], ["", "_GPU"]], ids=["none", "one", "two"])
def test_other_than_one_group_without_suffix_is_refused(suffixes: list[str]) -> None:
    """A plain provider serves everything itself."""
    groups = [RequestGroup.from_values(suffix=suffix, resources={"VCPU": 1}) for suffix in suffixes]
    with pytest.raises(exception.InvalidResourceQuery, match="one request group"):
        queries.parse(ResourceQuery.from_values(groups=groups))


def test_any_of_several_traits_may_include_a_forbidden_one() -> None:
    """The others still do."""
    asked = a_query(required_traits=[["CUSTOM_A", "CUSTOM_B"]], forbidden_traits=["CUSTOM_A"])
    assert queries.parse(asked).group.forbidden_traits == ("CUSTOM_A",)


def test_a_custom_name_that_nobody_uses_is_no_mistake() -> None:
    """It rules out every provider, which is an answer."""
    asked = a_query(resources={"CUSTOM_X": 1}, in_tree=a_uuid())
    assert queries.parse(asked).group.resources == {"CUSTOM_X": 1}
