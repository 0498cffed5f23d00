"""The query string for candidates: what it asks, and what is wrong with it, by microversion."""

import re
from typing import Any
from urllib.parse import parse_qs

import falcon
import pytest

from armillary.http.microversion import Version
from objects.allocations.resource_query import ResourceQuery
from placement.candidates.query import GROUPS_MAX
from placement.rest import candidates_query, errors
from placement.rest.versions import MAX

A = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
B = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"


def parse(text: str, version: Version = MAX) -> ResourceQuery:
    return candidates_query.parse(parse_qs(text, keep_blank_values=True), version)


def groups_of(text: str, version: Version = MAX) -> dict[str, dict[str, Any]]:
    """Return suffix -> what the group asks, without what is empty."""
    return {
        group.suffix: {
            key: value for key, value in group.to_plain().items() if value and key != "suffix"
        }
        for group in parse(text, version).groups
    }


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("resources=VCPU:2,MEMORY_MB:512", {"resources": {"VCPU": 2, "MEMORY_MB": 512}}),
        ("resources=VCPU: 2 ,MEMORY_MB:512 ", {"resources": {"VCPU": 2, "MEMORY_MB": 512}}),
        (
            "resources=VCPU:1&required=HW_A,!HW_B",
            {"resources": {"VCPU": 1}, "required_traits": [["HW_A"]], "forbidden_traits": ["HW_B"]},
        ),
        (
            "resources=VCPU:1&required=in:HW_A,HW_B&required=HW_C",
            {"resources": {"VCPU": 1}, "required_traits": [["HW_A", "HW_B"], ["HW_C"]]},
        ),
        (
            f"resources=VCPU:1&member_of=in:{A},{B}&member_of=!{B}",
            {"resources": {"VCPU": 1}, "member_of": [[A, B]], "forbidden_aggregates": [B]},
        ),
        (
            f"resources=VCPU:1&member_of=!in:{A},{B}",
            {"resources": {"VCPU": 1}, "forbidden_aggregates": [A, B]},
        ),
        (f"resources=VCPU:1&in_tree={A.upper()}", {"resources": {"VCPU": 1}, "in_tree": A}),
    ],
    ids=str,
)
def test_a_group_asks_for_what_was_said(text: str, group: dict[str, Any]) -> None:
    """Names as they are, UUIDs in the one form that compares as text."""
    assert groups_of(text) == {"": group}


def test_every_suffix_is_a_group() -> None:
    """The parameters of a group may stand anywhere."""
    assert groups_of(
        "required_GPU=HW_A&resources=VCPU:1&resources_GPU=VGPU:1&resources7=DISK_GB:5"
        "&group_policy=none"
    ) == {
        "": {"resources": {"VCPU": 1}},
        "_GPU": {"resources": {"VGPU": 1}, "required_traits": [["HW_A"]]},
        "7": {"resources": {"DISK_GB": 5}},
    }


def test_what_is_asked_of_all_groups_together_is_in_the_question() -> None:
    """Policy, limit, the root's traits, the subtrees."""
    query = parse(
        "resources1=VCPU:1&resources2=VGPU:1&required3=HW_A&group_policy=isolate&limit=7"
        "&root_required=HW_B,!HW_C&same_subtree=1,3,1&same_subtree=2"
    )
    assert (query.group_policy, query.limit) == ("isolate", 7)
    assert (query.root_required, query.root_forbidden) == (["HW_B"], ["HW_C"])
    assert query.same_subtree == [["1", "3"], ["2"]]


@pytest.mark.parametrize(
    ("text", "version", "attribute", "value"),
    [
        ("limit=10&limit=1", (1, 16), "limit", 10),
        ("limit=99999999999", (1, 16), "limit", 2**31 - 1),
        ("group_policy=isolate&group_policy=none", (1, 25), "group_policy", "isolate"),
        ("", (1, 28), "is_nested", False),
        ("", (1, 29), "is_nested", True),
    ],
    ids=str,
)
def test_what_counts_when_it_can_be_read_in_two_ways(
    text: str, version: Version, attribute: str, value: object
) -> None:
    """As clients of that microversion know it."""
    assert getattr(parse(f"resources=VCPU:1&{text}", version), attribute) == value


def test_before_1_39_the_last_required_counts_alone() -> None:
    """Afterwards all do."""
    text = "resources=VCPU:1&required=HW_A&required=HW_B"
    assert groups_of(text, (1, 38))[""]["required_traits"] == [["HW_B"]]
    assert groups_of(text, (1, 39))[""]["required_traits"] == [["HW_A"], ["HW_B"]]


BAD = errors.QUERYPARAM_BAD_VALUE
MISSING = errors.QUERYPARAM_MISSING_VALUE
DUPLICATE = errors.QUERYPARAM_DUPLICATE_KEY

WRONG = [  # only what 1.36 made possible has codes of its own
    ("resources=", MAX, None, "Badly formed resources parameter.*Got: empty string."),
    ("resources=VCPU", MAX, None, "Badly formed resources parameter.*Got: VCPU."),
    ("resources=VCPU:1,", MAX, None, r"Badly formed resources parameter.*Got: \."),
    ("resources=VCPU:1:2", MAX, None, "Badly formed resources"),
    ("resources=:1", MAX, None, "Badly formed resources"),
    ("resources=VCPU:1.5", MAX, None, "VCPU expected positive integer amount. Got: 1.5."),
    ("resources=VCPU:1_0", MAX, None, "VCPU expected positive integer amount. Got: 1_0."),
    ("resources=VCPU:0", MAX, None, "VCPU requires amount >= 1. Got: 0."),
    ("resources=VCPU:1&required=", (1, 17), None, "value of the form: HW_CPU_X86_VMX,CUSTOM"),
    ("resources=VCPU:1&required=!X", (1, 21), None, "of the form: HW_CPU_X86_VMX,CUSTOM.* Got: !X"),
    ("resources=VCPU:1&required=X,,", (1, 22), None, "value of the form: HW_CPU_X86_VMX,!CUSTOM"),
    ("resources=VCPU:1&required=in:X,Y", (1, 38), None, "only supported since microversion 1.39"),
    ("resources=VCPU:1&required=in:X,!Y", MAX, None, "Expected 'required' parameter value"),
    ("resources=VCPU:1&required=X,!X", MAX, None, r"Conflicting required.*required: \(X\)"),
    ("resources=VCPU:1&required=in:X,Y&required=!X,!Y", MAX, None, r"Conflicting.*\(X, Y\)"),
    ("resources=VCPU:1&member_of=fred", MAX, None, r"'member_of' parameter to contain valid UUID"),
    (f"resources1=VCPU:1&member_of1=in:{A},b", MAX, None, r"'member_of1' parameter to contain"),
    (f"resources=VCPU:1&member_of={A},{B}", MAX, None, "must be prefixed with the 'in:'"),
    (f"resources=VCPU:1&member_of=in:{A},!{B}", MAX, None, "to contain valid UUID"),
    (f"resources=VCPU:1&member_of={A}&member_of={B}", (1, 23), None, "Multiple member_of"),
    (f"resources=VCPU:1&member_of=!{A}", (1, 31), None, "Forbidden member_of parameters are not"),
    (
        "resources=VCPU:1&in_tree=x",
        MAX,
        None,
        "Expected 'in_tree' parameter to be a format of uuid",
    ),
    ("resources=VCPU:1&limit=0", MAX, None, "limit is not a positive integer: 0"),
    ("resources=VCPU:1&group_policy=some", MAX, None, "'some' is not one of"),
    ("group_policy=none", (1, 35), None, "At least one request group"),
    ("group_policy=none", MAX, MISSING, "There must be at least one resources"),
    ("required=X&required1=Y", (1, 35), None, "orphaned traits keys: required, required1"),
    (
        f"member_of={A}&member_of3={A}",
        (1, 32),
        None,
        "orphaned member_of keys: member_of, member_of3",
    ),
    (f"resources=VCPU:1&in_tree1={A}", (1, 35), None, "All request groups must specify resources"),
    ("resources1=VCPU:1&resources2=VCPU:1", MAX, None, '"group_policy" parameter is required'),
    (f"member_of1={A}", MAX, MISSING, "There must be at least one resources"),
    ("resources1=VCPU:1&required=X", MAX, BAD, "orphaned traits keys: required$"),
    ("resources1=VCPU:1&required2=X", MAX, BAD, "should be specified in `same_subtree`.* 2\\."),
    ("resources1=VCPU:1&same_subtree=1,,", MAX, BAD, r"Empty string \(unsuffixed group\)"),
    ("resources_A=VCPU:1&same_subtree=A", MAX, BAD, "Real suffixes should.*`same_subtree`: A not"),
    ("resources=VCPU:1&root_required=X&root_required=Y", MAX, DUPLICATE, "only once"),
    ("resources=VCPU:1&root_required=X,!X", MAX, BAD, "found in root_required: X"),
    ("resources=VCPU:1&root_required=in:X,Y", MAX, None, "not supported in root_required"),
    ("resources=VCPU:1&root_required=", MAX, None, "Expected 'root_required' parameter"),
]


@pytest.mark.parametrize(("text", "version", "code", "words"), WRONG, ids=str)
def test_what_is_wrong_is_said_with_its_parameter(
    text: str, version: Version, code: str | None, words: str
) -> None:
    """Clients decide by the code, people by the words."""
    with pytest.raises(falcon.HTTPError) as caught:
        parse(text, version)
    assert (caught.value.status_code, getattr(caught.value, "public_code", None)) == (400, code)
    assert re.search(words, str(caught.value.description))


def test_the_number_of_groups_is_bounded() -> None:
    """Every one may multiply the work."""
    text = "&".join(f"resources{number}=VCPU:1" for number in range(1, GROUPS_MAX + 2))
    with pytest.raises(falcon.HTTPError) as caught:
        parse(f"{text}&group_policy=none")
    assert f"at most {GROUPS_MAX} are allowed" in str(caught.value.description)


def test_names_are_collected_from_everywhere() -> None:
    """So that their existence can be asked together."""
    query = parse(
        "resources=VCPU:1&resources1=VGPU:1&required=in:HW_A,HW_B&required1=!HW_C"
        "&root_required=HW_D,!HW_E"
    )
    assert candidates_query.resource_classes_of(query) == {"VCPU", "VGPU"}
    assert candidates_query.traits_of(query) == {"HW_A", "HW_B", "HW_C", "HW_D", "HW_E"}
