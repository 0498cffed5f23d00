"""Notes on requirements that no enabled filter reads."""

import pytest

from scheduler.explain import unread
from tests.builders import a_flavor
from tests.fleets import a_request_spec

NOT_CHECKED = "{} is not checked: {} is not enabled in the scheduler."


@pytest.mark.parametrize(
    ("hints", "enabled", "notes"),
    [
        ({}, [], []),
        ({"same_host": ["x"]}, ["SameHostFilter"], []),
        (
            {"same_host": ["x"]},
            ["ComputeFilter"],
            [NOT_CHECKED.format("The scheduler hint same_host", "SameHostFilter")],
        ),
        ({"build_near_host_ip": ["10.0.0.1"], "cidr": ["24"]}, ["SimpleCIDRAffinityFilter"], []),
        (
            {"grup": ["x"], "group": ["x"], "a b": ["x"]},
            [],
            ["Only a plugin could read these scheduler hints: a b, grup."],
        ),
    ],
    ids=["none", "read", "not-enabled", "two-of-one-filter", "unknown"],
)
def test_hints_without_effect_are_named(
    hints: dict[str, list[str]], enabled: list[str], notes: list[str]
) -> None:
    """A misspelt one is like none at all: the server is placed as if it were not there."""
    assert unread.notes(a_request_spec(scheduler_hints=hints), enabled) == notes


def test_extra_specs_without_effect_are_named() -> None:
    """By the scope, once."""
    specs = {"capabilities:a": "1", "capabilities:b": "1"}
    spec = a_request_spec(flavor=a_flavor(extra_specs=specs))
    expected = NOT_CHECKED.format("The extra spec capabilities", "ComputeCapabilitiesFilter")
    assert unread.notes(spec, []) == [expected]
