"""Traits over REST: names, filters, times."""

import pytest

from tests.fixtures.placement.placement_rest import PlacementApi, detail

LONGEST = "CUSTOM_" + "X" * 248


def trait_names(api: PlacementApi, query: str) -> list[str]:
    """Return the names that a query finds."""
    return list(api.get(f"/traits?{query}").json["traits"])


def test_the_longest_name_is_made_and_found(api: PlacementApi) -> None:
    """255 characters; with one more it is refused."""
    answer = api.put(f"/traits/{LONGEST}")
    assert answer.status_code == 201
    assert answer.headers["location"].endswith(f"/traits/{LONGEST}")
    assert trait_names(api, "name=startswith:CUSTOM_") == [LONGEST]
    assert "255 characters" in detail(api.put(f"/traits/{LONGEST}X"))


@pytest.mark.parametrize("name", ["CUSTOM_", "CUSTOM_a", "HW_CPU_X86_AVX", "%E2%98%83", "%27"])
def test_a_bad_name_is_refused(api: PlacementApi, name: str) -> None:
    """Standard ones, too: they are there already."""
    assert api.put(f"/traits/{name}").status_code == 400
    assert api.get("/traits?name=startswith:CUSTOM_").json["traits"] == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("name=in:CUSTOM_A,BOGUS", ["CUSTOM_A"]),
        ("name=in:", []),
        ("name=startswith:CUSTOM_A", ["CUSTOM_A", "CUSTOM_AB"]),
        ("name=startswith:%25", []),
        ("name=startswith:_USTOM", []),
        ("name=startswith:CUSTOM_&associated=true", []),
        ("name=startswith:CUSTOM_AB&associated=false", ["CUSTOM_AB"]),
        ("name=in:CUSTOM_A&name=in:CUSTOM_AB", ["CUSTOM_AB"]),
    ],
)
def test_filters(api: PlacementApi, query: str, found: list[str]) -> None:
    """A prefix is not a pattern; of a parameter that is sent twice the last counts."""
    for name in ("CUSTOM_A", "CUSTOM_AB"):
        api.put(f"/traits/{name}")
    assert trait_names(api, query) == found


@pytest.mark.parametrize(
    "query", ["name=", "name=in", "name=IN:A", "name=like:A", "associated=", "associated=1", "x=y"]
)
def test_a_bad_filter_is_refused(api: PlacementApi, query: str) -> None:
    """With what was expected."""
    assert api.get(f"/traits?{query}").status_code == 400


def test_an_empty_list_has_a_time_too(api: PlacementApi) -> None:
    """Caches ask for it in every answer."""
    answer = api.get("/traits?name=in:BOGUS")
    assert answer.json == {"traits": []}
    assert answer.headers["cache-control"] == "no-cache"
    assert "last-modified" in answer.headers
