"""A request spec becomes a question for placement; what cannot be right is skipped."""

from __future__ import annotations

import logging
from typing import Any

import pytest

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
        ({"resources1:VCPU": "1"}, "numbered group"),
        ({"trait_DISK:CUSTOM_A": "required"}, "numbered group"),
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
    """Beside what the flavor asks for."""
    params = RequestLevelParams.from_values(
        root_required=["CUSTOM_A"],
        root_forbidden=["COMPUTE_STATUS_DISABLED"],
        member_of=[["a", "b"], ["c"]],
        forbidden_aggregates=["d"],
    )
    found = group({"trait:CUSTOM_B": "required"}, request_level_params=params)
    assert found.required_traits == [["CUSTOM_B"], ["CUSTOM_A"]]
    assert found.forbidden_traits == ["COMPUTE_STATUS_DISABLED"]
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
