"""Whether two patterns of host names fit a common name."""

import fnmatch
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.names.host_patterns import common, overlap

PARTS = ["*", "?", "a", "b", "-", "[ab]", "[!a]", "[a-c]", "[!]a]", "[", "]"]
NAMES = [
    "".join(letters) for length in range(5) for letters in itertools.product("abc-", repeat=length)
]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("rack1-*", "rack2-*", False),
        ("rack*", "rack2-*", True),
        ("rack1-*", "*-7", True),
        ("rack1-*", "rack1", False),
        ("rack1*", "rack1", True),
        ("gen-[0-4]", "gen-[5-9]", False),
        ("gen-[!0-4]", "gen-[4-9]", True),
        ("gen-[!0-4]", "gen-[1-3]", False),
        ("gen-?", "gen-??", False),
        ("Rack1", "rack1", False),
        ("*a*b", "*b*a", False),
        ("*", "", True),
    ],
)
def test_patterns_that_operators_write(one: str, other: str, expected: bool) -> None:
    """Names are compared with their case, as the enrolment compares them."""
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


PATTERNS = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)


@given(PATTERNS, PATTERNS)
def test_a_common_name_is_never_missed(one: str, other: str) -> None:
    """Whatever short name both fit."""
    if any(fnmatch.fnmatchcase(name, one) and fnmatch.fnmatchcase(name, other) for name in NAMES):
        assert overlap(one, other)


def test_long_patterns_are_compared_quickly() -> None:
    """An enrolment is text from a file: stars cost no search of all their ends."""
    assert not overlap("a*" * 120 + "b", "a*" * 120 + "c")


def test_the_patterns_that_collide_are_named() -> None:
    """The first of each side."""
    assert common(["a", "rack*"], iter(["b", "*2"])) == ("rack*", "*2")
    assert common(["a"], []) is None
