"""Tests of the arithmetic of quotas."""

import pytest

from armillary import exception
from conductor.super_conductor.accept.quotas import check_limits, fitting_count


@pytest.mark.parametrize(
    ("limits", "used", "per_server", "expected"),
    [
        ({"cores": 10}, {"cores": 0}, {"cores": 2}, 5),
        ({"cores": 10}, {"cores": 3}, {"cores": 2}, 3),
        ({"cores": 100}, {"cores": 3}, {"cores": 2}, 8),
        ({"cores": -1}, {"cores": 10**6}, {"cores": 2}, 8),
        ({"cores": 0}, {"cores": 0}, {"cores": 0}, 8),
        ({"cores": 10, "ram": 3}, {"cores": 0, "ram": 0}, {"cores": 2, "ram": 1}, 3),
    ],
    ids=["limit", "used", "all", "unlimited", "nothing-asked", "least-of-two"],
)
def test_what_fits(
    limits: dict[str, int], used: dict[str, int], per_server: dict[str, int], expected: int
) -> None:
    """At most what was asked for, at most what is left of each resource."""
    assert fitting_count(limits, used, per_server, min_count=1, max_count=8) == expected


def test_more_used_than_allowed_lets_nothing_fit() -> None:
    """A limit may be lowered under what is used."""
    with pytest.raises(exception.QuotaExceeded):
        fitting_count({"ram": 5}, {"ram": 9}, {"ram": 1}, min_count=1, max_count=1)


@pytest.mark.parametrize(
    "limits",
    [{"colour": 1}, {"cores": -2}, {"ram": 2**31}],
    ids=["unknown", "negative", "too-large"],
)
def test_bad_limits_are_refused(limits: dict[str, int]) -> None:
    """The message names the resource."""
    with pytest.raises(exception.Invalid, match=next(iter(limits))):
        check_limits(limits)
