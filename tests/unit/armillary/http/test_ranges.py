"""Schemas with ranges of versions, and responses cut to one version."""

from typing import Any

import pytest

from armillary.http.microversion import Version
from armillary.http.ranges import Ranged, breakpoints, projection, resolve

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
THING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": (Ranged(TEXT, since=(2, 53)), Ranged(NUMBER)),
        "old": Ranged(TEXT, until=(2, 9)),
        "new": Ranged(TEXT, since=(2, 10)),
        "more": Ranged(TEXT, is_own=True),
        "armillary:zone": TEXT,
        "properties": {
            "type": "object",
            "properties": {"required": Ranged(TEXT, since=(2, 20)), "items": TEXT},
            "required": ["required", "items"],
        },
    },
    "required": ["id", "old", "new", "armillary:zone", "properties"],
    "additionalProperties": False,
}
LIST = {"type": "object", "properties": {"things": {"type": "array", "items": THING}}}
WHOLE = {
    "id": "a",
    "old": "b",
    "new": "c",
    "more": "d",
    "armillary:zone": "e",
    "properties": {"required": "f", "items": "g"},
}


@pytest.mark.parametrize(
    ("version", "with_own", "names", "below"),
    [
        ((2, 1), False, {"id", "old", "properties"}, {"items"}),
        ((2, 9), False, {"id", "old", "properties"}, {"items"}),
        ((2, 10), False, {"id", "new", "properties"}, {"items"}),
        ((2, 20), False, {"id", "new", "properties"}, {"items", "required"}),
        ((2, 20), True, {*WHOLE} - {"old"}, {"items", "required"}),
    ],
)
def test_schema_and_response_have_the_fields_of_the_version(
    version: Version, with_own: bool, names: set[str], below: set[str]
) -> None:
    """The same ones, at every depth."""
    schema = resolve(LIST, version, with_own=with_own)["properties"]["things"]["items"]
    project = projection(LIST, version, with_own=with_own)
    assert project is not None
    (shown,) = project({"things": [WHOLE]})["things"]
    assert set(schema["properties"]) == set(shown) == names
    assert set(schema["required"]) == names - {"more"}
    assert set(schema["properties"]["properties"]["properties"]) == below
    assert set(shown["properties"]) == below


def test_a_field_may_change_its_form() -> None:
    """The first form that fits applies."""
    forms = [resolve(THING, (2, minor), with_own=False)["properties"]["id"] for minor in (52, 53)]
    assert forms == [NUMBER, TEXT]


def test_a_field_that_is_not_declared_stays() -> None:
    """So that a check of the response finds it."""
    project = projection(THING, (2, 1), with_own=False)
    assert project is not None
    assert project({"id": 1, "odd": 2}) == {"id": 1, "odd": 2}


def test_a_schema_changes_where_its_parts_do() -> None:
    """After the last version of a field, and from the first of another."""
    assert breakpoints(LIST) == [(0, 0), (2, 10), (2, 20), (2, 53)]


def test_what_is_the_same_in_all_versions_is_not_touched() -> None:
    """No time is spent on it."""
    assert projection({"type": "object", "properties": {"a": TEXT}}, (2, 1), with_own=True) is None
