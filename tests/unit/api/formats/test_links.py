"""Links and pages."""

import pytest

from api.formats.links import Links, page
from armillary import exception

LETTERS = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("limit", "marker", "cut", "following"),
    [
        pytest.param(2, None, ["a", "b"], "b", id="first"),
        pytest.param(2, "b", ["c", "d"], "d", id="middle"),
        pytest.param(2, "d", ["e"], None, id="last"),
        pytest.param(5, None, LETTERS, None, id="whole"),
        pytest.param(2, "e", [], None, id="after-the-last"),
    ],
)
def test_a_page_is_cut_out_of_a_list(
    limit: int, marker: str | None, cut: list[str], following: str | None
) -> None:
    """The next one begins after the last of this."""
    assert page(LETTERS, str, limit, marker) == (cut, following)


def test_a_marker_must_be_in_the_list() -> None:
    """Else a page would silently begin at the front again."""
    with pytest.raises(exception.Invalid, match=r"marker. Value: z"):
        page(LETTERS, str, 2, "z")


def test_a_thing_has_two_links() -> None:
    """Names are quoted."""
    links = Links("http://here", "/v2.1/flavors", {}).of("flavors", "a/b c")
    assert links == [
        {"rel": "self", "href": "http://here/v2.1/flavors/a%2Fb%20c"},
        {"rel": "bookmark", "href": "http://here/flavors/a%2Fb%20c"},
    ]


def test_the_next_page_keeps_the_other_parameters() -> None:
    """Only the marker changes."""
    links = Links("http://here", "/v2.1/servers", {"limit": "2", "marker": "a"})
    assert links.next_page("b") == [
        {"rel": "next", "href": "http://here/v2.1/servers?limit=2&marker=b"}
    ]
