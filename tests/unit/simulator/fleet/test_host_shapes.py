"""One pattern names many hosts."""

import itertools

import pytest

from simulator.fleet.host_shapes import expand


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("web", ["web"]),
        ("web-{1..3}", ["web-1", "web-2", "web-3"]),
        ("web-{08..10}", ["web-08", "web-09", "web-10"]),
        ("r{1..2}-n{1..2}.example", ["r1-n1.example", "r1-n2.example", "r2-n1.example",
                                     "r2-n2.example"]),
        ("web-{5..5}", ["web-5"]),
    ],
    ids=["plain", "range", "padded", "two-ranges", "one-in-range"],
)  # fmt: skip
def test_a_pattern_is_expanded(pattern: str, names: list[str]) -> None:
    """In the order of the numbers."""
    assert list(expand(pattern)) == names


@pytest.mark.parametrize(
    "pattern", ["web-{3..1}", "-web", "web ", "", "web-{a..b}", "w" * 201], ids=repr
)
def test_what_names_no_host_is_refused(pattern: str) -> None:
    """An empty range, a name that is none."""
    with pytest.raises(ValueError, match=r"is empty|not a host name"):
        list(expand(pattern))


def test_a_huge_pattern_is_expanded_only_as_far_as_asked() -> None:
    """A caller that counts hosts can stop at the bound."""
    assert len(list(itertools.islice(expand("h{0..999999}-{0..999999}"), 3))) == 3
