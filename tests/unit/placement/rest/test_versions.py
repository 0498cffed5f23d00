"""How a request names the version that it wants."""

import pytest

from armillary.http.microversion import Version, entry_for
from placement.rest.versions import MAX, MICROVERSIONS


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (None, "1.0"),
        ("", "1.0"),
        ("placement 1.28", "1.28"),
        ("PLACEMENT  1.28 ", "1.28"),
        ("compute 2.1, placement 1.5", "1.5"),
        ("compute 2.1", "1.0"),
        ("placement latest", "latest"),
        ("placement", "1.0"),
    ],
)
def test_the_header_may_name_several_services(header: str | None, wanted: str) -> None:
    """Ours counts, and the lowest version where we are not named."""
    assert MICROVERSIONS.wanted(header) == wanted


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.0", (1, 0)),
        ("1.39", (1, 39)),
        ("latest", MAX),
        ("0.9", (0, 9)),
        ("1.40", (1, 40)),
        ("1", None),
        ("1.2.3", None),
        ("01.2", None),
        ("1.-2", None),
        ("1.٣", None),
        ("pony.horse", None),
        ("", None),
    ],
)
def test_a_version_has_two_numbers(text: str, version: Version | None) -> None:
    """Whether it is served is another question."""
    assert MICROVERSIONS.parse(text) == version


@pytest.mark.parametrize(
    ("version", "entry"),
    [((1, 0), None), ((1, 1), "old"), ((1, 18), "old"), ((1, 19), "new"), ((1, 39), "new")],
)
def test_the_entry_of_the_highest_version_not_above_counts(
    version: Version, entry: str | None
) -> None:
    """Whatever the order of the table."""
    assert entry_for(version, {(1, 19): "new", (1, 1): "old"}) == entry
