"""Tests of reading a zone as users write it; the rest is tested with the acceptance."""

import pytest

from armillary import exception
from conductor.super_conductor.accept.server_requests import ZoneAsked, parse_zone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, (None, None, None)),
        ("", (None, None, None)),
        ("z", ("z", None, None)),
        ("z:h", ("z", "h", None)),
        ("z:h:n", ("z", "h", "n")),
        ("z::n", ("z", None, "n")),
        (":h", (None, "h", None)),
    ],
)
def test_a_zone_is_taken_apart(
    text: str | None, expected: tuple[str | None, str | None, str | None]
) -> None:
    """Each part may be missing."""
    assert parse_zone(text) == ZoneAsked(*expected)


def test_a_fourth_part_is_refused() -> None:
    """There is no such thing."""
    with pytest.raises(exception.Invalid):
        parse_zone("a:b:c:d")
