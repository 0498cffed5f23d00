"""A request spec becomes a question for placement; what cannot be right is skipped."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from armillary import exception
from objects.request_spec import Destination, RequestLevelParams
from objects.resource_query import RequestGroup
from scheduler import resource_query
from tests.builders import a_flavor, an_image
from tests.fleets import a_request_spec


def group(extra_specs: dict[str, str] | None = None, **values: Any) -> RequestGroup:
    query = resource_query.build(a_request_spec(extra_specs, **values), limit=0)
    (found,) = query.groups
    return found


@pytest.mark.parametrize(
    ("sizes", "amounts"),
    [
        (
            {"vcpus": 2, "memory_mb": 512, "root_gb": 3, "ephemeral_gb": 4, "swap_mb": 1025},
            {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 9},
        ),
        ({"vcpus": 1, "memory_mb": 64, "root_gb": 0}, {"VCPU": 1, "MEMORY_MB": 64}),
    ],
    ids=["all disks", "no disk"],
)
def test_amounts_come_from_the_flavor(sizes: dict[str, Any], amounts: dict[str, int]) -> None:
    """Swap is rounded up to GiB, and nothing is asked for by the amount of 0."""
    assert group(flavor=a_flavor(**sizes)).resources == amounts


@pytest.mark.parametrize(
    ("extra_specs", "amounts"),
    [
        ({"resources:VCPU": "4"}, {"VCPU": 4, "MEMORY_MB": 512, "DISK_GB": 1}),
        ({"resources:VCPU": "0"}, {"MEMORY_MB": 512, "DISK_GB": 1}),
        (
            {"resources:CUSTOM_GPU": " 2 "},
            {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1, "CUSTOM_GPU": 2},
        ),
    ],
    ids=str,
)
def test_extra_specs_override_amounts(extra_specs: dict[str, str], amounts: dict[str, int]) -> None:
    """0 takes a class out of the question."""
    assert group(extra_specs).resources == amounts


def test_traits_come_from_flavor_and_image() -> None:
    """Required and forbidden ones, each once."""
    image = an_image(
        properties={"trait:HW_CPU_X86_AVX": "required", "traits_required": "CUSTOM_A, CUSTOM_B"}
    )
    found = group(
        {
            "trait:HW_CPU_X86_AVX": "required",
            "trait:HW_CPU_X86_SSE": "required",
            "trait:CUSTOM_OLD": "forbidden",
        },
        image=image,
    )
    assert found.required_traits == [
        ["CUSTOM_A"],
        ["CUSTOM_B"],
        ["HW_CPU_X86_AVX"],
        ["HW_CPU_X86_SSE"],
    ]
    assert found.forbidden_traits == ["CUSTOM_OLD"]


@pytest.mark.parametrize(
    ("extra_specs", "warning"),
    [
        ({"resources:BOGUS": "1"}, "names no resource class"),
        ({"resources:CUSTOM_lower": "1"}, "names no resource class"),
        ({"resources:VCPU": "many"}, "is no amount"),
        ({"resources:VCPU": "-1"}, "is no amount"),
        ({"resources:VCPU": "1.5"}, "is no amount"),
        ({"resources:VCPU": "3000000000"}, "is no amount"),
        ({"resources:VCPU": "9" * 5000}, "is no amount"),
        ({"trait:HW_CPU_BOGUS": "required"}, "names no trait"),
        ({"trait:CUSTOM_A": "perhaps"}, "neither required nor forbidden"),
        ({f"resources_{'x' * 64}:VCPU": "1"}, "has no suffix that a request group can have"),
        ({"trait_a.b:CUSTOM_A": "required"}, "has no suffix that a request group can have"),
        ({"group_policy": "strict"}, "neither none nor isolate"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_right_is_said_and_skipped(
    extra_specs: dict[str, str], warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The request goes on without it."""
    with caplog.at_level(logging.WARNING):
        found = group(extra_specs)
    assert found.resources == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    assert found.required_traits == []
    (record,) = caplog.records
    assert warning in record.getMessage()


def test_an_image_trait_that_is_none_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """The good ones beside it count."""
    image = an_image(properties={"traits_required": "bogus,CUSTOM_A,"})
    assert group(image=image).required_traits == [["CUSTOM_A"]]
    assert "no trait bogus" in caplog.text


@pytest.mark.parametrize("key", ["hw:cpu_policy", "resource", "traits", "capabilities:x", "trait:"])
def test_other_extra_specs_are_not_for_placement(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They change nothing, silently."""
    found = group({key: "1"})
    assert (found.required_traits, list(found.resources)) == ([], ["VCPU", "MEMORY_MB", "DISK_GB"])
    assert caplog.records == []


def test_what_request_filters_ask_for_is_in_the_question() -> None:
    """Beside what the flavor asks for: of a tree's root, whoever serves the amounts."""
    params = RequestLevelParams.from_values(
        root_required=["CUSTOM_A"],
        root_forbidden=["COMPUTE_STATUS_DISABLED"],
        member_of=[["a", "b"], ["c"]],
        forbidden_aggregates=["d"],
    )
    spec = a_request_spec({"trait:CUSTOM_B": "required"}, request_level_params=params)
    query = resource_query.build(spec, limit=5)
    assert (query.root_required, query.root_forbidden) == (
        ["CUSTOM_A"],
        ["COMPUTE_STATUS_DISABLED"],
    )
    (found,) = query.groups
    assert (found.required_traits, found.forbidden_traits) == ([["CUSTOM_B"]], [])
    assert found.member_of == [["a", "b"], ["c"]]
    assert found.forbidden_aggregates == ["d"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({}, 5),
        ({"scheduler_hints": {"group": ["some-uuid"]}}, None),
        ({"scheduler_hints": {"same_host": "some-uuid"}}, None),
        ({"scheduler_hints": {"different_host": ["some-uuid"]}}, None),
        ({"force_hosts": ["host1"]}, None),
        ({"requested_destination": Destination.from_values(host="host1")}, None),
        ({"requested_destination": Destination.from_values(host=None)}, 5),
    ],
    ids=str,
)
def test_a_request_that_a_limit_could_starve_is_not_limited(
    values: dict[str, Any], limit: int | None
) -> None:
    """The host that it needs may be beyond the limit."""
    assert resource_query.build(a_request_spec(**values), limit=5).limit == limit


def test_no_limit_asks_for_all() -> None:
    """0 is the option's word for it."""
    assert resource_query.build(a_request_spec(), limit=0).limit is None


# Groups with a suffix -----------------------------------------------------------------------------


def test_groups_with_a_suffix_are_asked_of_one_provider_each() -> None:
    """The flavor's size of a class is dropped when any group names the class."""
    spec = a_request_spec(
        {
            "resources1:VCPU": "2",
            "trait1:HW_NUMA_ROOT": "required",
            "resources_NET-a:CUSTOM_VF": "1",
            "resources_NET-a:SRIOV_NET_VF": "0",
            "trait_NET-a:CUSTOM_OLD": "forbidden",
            "trait:CUSTOM_A": "required",
        }
    )
    query = resource_query.build(spec, limit=0)
    assert [(each.suffix, each.resources) for each in query.groups] == [
        ("", {"MEMORY_MB": 512, "DISK_GB": 1}),
        ("1", {"VCPU": 2}),
        ("_NET-a", {"CUSTOM_VF": 1}),
    ]
    assert [each.required_traits for each in query.groups] == [
        [["CUSTOM_A"]],
        [["HW_NUMA_ROOT"]],
        [],
    ]
    assert [each.forbidden_traits for each in query.groups] == [[], [], ["CUSTOM_OLD"]]


@pytest.mark.parametrize(
    ("extra_specs", "policy"),
    [
        ({}, None),
        ({"resources1:CUSTOM_VF": "1"}, None),
        ({"resources1:CUSTOM_VF": "1", "resources2:CUSTOM_VF": "1"}, "none"),
        ({"resources1:CUSTOM_VF": "1", "group_policy": "isolate"}, "isolate"),
        ({"resources1:CUSTOM_VF": "1", "group_policy": "strict"}, None),
    ],
    ids=str,
)
def test_several_groups_need_a_policy(extra_specs: dict[str, str], policy: str | None) -> None:
    """None is the one that refuses least."""
    query = resource_query.build(a_request_spec(extra_specs), limit=0)
    assert query.group_policy == policy


ALL_SUFFIXED = {
    "resources1:VCPU": "1",
    "resources1:MEMORY_MB": "512",
    "resources1:DISK_GB": "1",
    "trait:CUSTOM_A": "required",
    "trait:CUSTOM_B": "forbidden",
}


def test_traits_without_resources_beside_them_are_asked_of_the_root() -> None:
    query = resource_query.build(a_request_spec(ALL_SUFFIXED), limit=0)
    assert [each.suffix for each in query.groups] == ["1"]
    assert (query.root_required, query.root_forbidden) == (["CUSTOM_A"], ["CUSTOM_B"])


def test_aggregates_cannot_be_asked_of_groups_with_a_suffix_alone() -> None:
    """It would be left out silently otherwise."""
    params = RequestLevelParams.from_values(member_of=[["a"]])
    with pytest.raises(exception.RequestFilterFailed, match="availability zone"):
        resource_query.build(a_request_spec(ALL_SUFFIXED, request_level_params=params), limit=0)
