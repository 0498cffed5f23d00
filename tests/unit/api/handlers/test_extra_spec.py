"""Extra specs: set, changed, deleted, one by one or several."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/flavors/small/os-extra_specs"


@pytest.fixture(autouse=True)
def flavor(conductor: SuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small", extra_specs={"a": "1", "b": "2"})]


def test_specs_are_listed_and_shown(api: Api) -> None:
    """To everybody."""
    assert api.get(PATH, token=MEMBER).json == {"extra_specs": {"a": "1", "b": "2"}}
    assert api.get(f"{PATH}/a", token=MEMBER).json == {"a": "1"}


def test_new_specs_join_the_old(api: Api, conductor: SuperConductor) -> None:
    """Those not named stay."""
    answer = api.post(PATH, {"extra_specs": {"b": "3", "trait:CUSTOM_X": "required"}})
    assert answer.json == {"extra_specs": {"b": "3", "trait:CUSTOM_X": "required"}}
    assert conductor.flavors[0].extra_specs == {"a": "1", "b": "3", "trait:CUSTOM_X": "required"}


def test_one_spec_is_changed(api: Api, conductor: SuperConductor) -> None:
    """By its path."""
    assert api.put(f"{PATH}/a", {"a": "9"}).json == {"a": "9"}
    assert conductor.flavors[0].extra_specs == {"a": "9", "b": "2"}


def test_one_spec_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Once."""
    assert api.delete(f"{PATH}/a").status_code == 200
    assert conductor.flavors[0].extra_specs == {"b": "2"}
    assert api.delete(f"{PATH}/a").status_code == 404


@pytest.mark.parametrize("path", [f"{PATH}/z", "/v2.1/flavors/huge/os-extra_specs"])
def test_what_is_not_there_is_404(path: str, api: Api) -> None:
    """A spec or its flavor."""
    assert api.get(path).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"b": "1"}, "b"),
        ({}, "body"),
        ({"a": 1}, "a"),
        ({"a": "1", "b": "2"}, "body"),
        ({"a": "x" * 256}, "a"),
    ],
    ids=["another-key", "nothing", "number", "two", "long"],
)
def test_a_change_must_be_of_the_one_in_the_path(
    body: dict[str, Any], field: str, api: Api, conductor: SuperConductor
) -> None:
    """A text, not too long."""
    answer = api.put(f"{PATH}/a", body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert conductor.flavors[0].extra_specs == {"a": "1", "b": "2"}


@pytest.mark.parametrize("specs", [{"a/b": "1"}, {"a": None}, [], "a"], ids=str)
def test_bad_specs_are_refused(specs: Any, api: Api) -> None:
    """Keys are used in paths."""
    answer = api.post(PATH, {"extra_specs": specs})
    assert answer.status_code == 400
    assert "field/attribute extra_specs" in message(answer)
