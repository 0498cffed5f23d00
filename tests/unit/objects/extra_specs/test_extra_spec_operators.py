"""The operators of extra specs, one row of the table after another."""

import pytest

from objects.extra_specs.extra_spec_operators import matches, mistake


@pytest.mark.parametrize(
    ("value", "requirement", "matched"),
    [
        ("1", "= 1", True),
        ("2", "= 1", True),
        ("1", "= 2", False),
        ("5", ">=3", False),
        (">=3", ">=3", True),
        ("5", ">= 3", True),
        ("3.0", ">= 3", True),
        ("2", ">= 3", False),
        ("5", "> 3", False),
        ("3", "<= 3", True),
        ("4", "<= 3", False),
        ("3.0", "== 3", True),
        ("4", "== 3", False),
        ("4", "!= 3", True),
        ("3.0", "!= 3", False),
        ("8", ">= 3 9", True),
        ("abc", ">= 3", False),
        ("5", ">= abc", False),
        ("nan", "!= 3", False),
        ("5", "!= nan", False),
        ("5", ">=", False),
        ("10", "s>= 9", False),
        ("9", "s>= 10", True),
        ("a", "s== a", True),
        ("a", "s!= a", False),
        ("a", "s< b", True),
        ("a", "s<= a", True),
        ("b", "s> a", True),
        ("a", "s==", False),
        ("12310321", "<in> 11", False),
        ("12310321", "<in> 123", True),
        ("12310321", "<in> 123 x", True),
        ("", "<in>", False),
        ("aesni avx", "<all-in> aes avx", True),
        ("aesni", "<all-in> aes avx", False),
        ("aesni", "<all-in>", False),
        ("v", "<or> a <or> v", True),
        ("v", "<or> a <or> b", False),
        ("v", "<or> a v", False),
        ("v", "<or> a and v", False),
        ("v", "<or>", False),
        ("<or>", "<or>", False),
        ("a b", "a b", True),
        ("a", "a b", False),
        ("", "", True),
        ("a", "", False),
        (" ", " ", True),
    ],
)
def test_a_value_matches_as_the_table_says(value: str, requirement: str, matched: bool) -> None:
    """Too few operands or no number: no match, and no error."""
    assert matches(value, requirement) is matched


@pytest.mark.parametrize(
    ("requirement", "wrong"),
    [
        ("avx", None),
        ("", None),
        (">=3", None),
        (">= 3", None),
        ("= 1.5", None),
        ("s== b", None),
        ("<in> avx", None),
        ("<all-in> a b", None),
        ("<or> a <or> b", None),
        ("<or> a <or> a", None),
        (">=", "operand"),
        ("s>", "operand"),
        ("<in>", "operand"),
        ("<all-in> ", "operand"),
        ("<or>", "operand"),
        (">= many", "number"),
        ("== nan", "number"),
        ("<or> a b", "<or>"),
        ("<or> a <or>", "<or>"),
    ],
)
def test_a_requirement_that_nothing_can_meet_is_a_mistake(
    requirement: str, wrong: str | None
) -> None:
    """An unknown first word is none: then the whole is a text."""
    found = mistake(requirement)
    assert found is None if wrong is None else wrong in (found or "")
