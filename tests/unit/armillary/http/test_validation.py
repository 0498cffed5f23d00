"""Validation of request bodies that both APIs share."""

from typing import Any

import jsonschema
import pytest

from armillary.http.validation import ERRORS_MAX, CompiledSchema, by_version, check_clean

FORMATS = jsonschema.FormatChecker(formats=())
OLD, NEW = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("schemas", "table"),
    [
        (None, {}),
        (OLD, {(0, 0): OLD}),
        ({}, {(0, 0): {}}),
        ({(2, 1): OLD, (2, 19): NEW, (2, 30): None}, {(2, 1): OLD, (2, 19): NEW, (2, 30): None}),
    ],
    ids=["none", "one", "any-value", "several"],
)
def test_schemas_are_found_by_version(schemas: Any, table: Any) -> None:
    """A single schema applies to every version."""
    assert by_version(schemas) == table


def test_infinity_is_refused_unless_schemas_refuse_it() -> None:
    """The error names the field."""
    value = {"a": [float("inf")]}
    check_clean(value, allow_infinity=True)
    with pytest.raises(ValueError, match=r"'a\.0'"):
        check_clean(value)


def test_the_search_for_errors_ends() -> None:
    """A body with very many errors costs no more than one with a hundred."""
    checked = 0
    formats = jsonschema.FormatChecker(formats=())

    @formats.checks("never")
    def is_never(value: object) -> bool:
        nonlocal checked
        checked += 1
        return False

    schema = CompiledSchema({"items": {"format": "never"}}, formats)
    assert schema.find_error(["x"] * (10 * ERRORS_MAX)) is not None
    assert checked == ERRORS_MAX


@pytest.mark.parametrize("limit", [{}, {"maxLength": 65_536}], ids=["no-limit", "limit"])
def test_a_text_that_is_too_long_is_not_searched_for_a_pattern(limit: dict[str, int]) -> None:
    """Which may take as many steps as the square of its length: for this one days."""
    schema = CompiledSchema({"type": "string", "pattern": r"^\s*=?\s*$", **limit}, FORMATS)
    error = schema.find_error(" " * 10_000_000 + "!")
    assert error is not None
    assert "is too long" in error.message
    assert schema.find_error(" = ") is None
    refused = schema.find_error("x")
    assert refused is not None
    assert refused.message == r"'x' does not match '^\\s*=?\\s*$'"


def test_a_line_break_is_not_the_end_of_a_text() -> None:
    """As it is for patterns in Python: names of guests, roles and keys would end with one."""
    schema = CompiledSchema({"type": "string", "pattern": "^[a-z]+$"}, FORMATS)
    assert schema.find_error("web") is None
    assert schema.find_error("web\n") is not None
