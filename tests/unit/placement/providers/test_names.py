"""Names: which there can be."""

import pytest

from armillary.names.identifiers import is_uuid
from placement.providers import names


@pytest.mark.parametrize("name", ["VCPU", "MEMORY_MB", "CUSTOM_GOLD", "CUSTOM_A1_"])
def test_a_resource_class_is_a_standard_one_or_custom(name: str) -> None:
    """Both kinds exist without anybody making them."""
    assert names.is_resource_class(name)


@pytest.mark.parametrize("name", ["", "vcpu", "CUSTOM_", "CUSTOM_gold", "GOLD", "CUSTOM_A\n"])
def test_any_other_resource_class_does_not_exist(name: str) -> None:
    """Misspelt names are refused."""
    assert not names.is_resource_class(name)


@pytest.mark.parametrize("name", ["HW_CPU_X86_AVX2", "COMPUTE_STATUS_DISABLED", "CUSTOM_RED"])
def test_a_trait_is_a_standard_one_or_custom(name: str) -> None:
    """Both kinds exist without anybody making them."""
    assert names.is_trait(name)


@pytest.mark.parametrize("name", ["HW_CPU_X86_AVX9000", "VCPU", "CUSTOM_" + "A" * 249])
def test_any_other_trait_does_not_exist(name: str) -> None:
    """Nor does one that is too long for the database."""
    assert not names.is_trait(name)


@pytest.mark.parametrize(
    "value",
    [None, 7, "", "x", "C0FFEE00-0000-4000-8000-000000000001", "c0ffee0000004000800000000000001"],
)
def test_a_uuid_in_another_form_is_none(value: object) -> None:
    """Only one form compares as text."""
    assert not is_uuid(value)
    assert is_uuid("c0ffee00-0000-4000-8000-000000000001")


@pytest.mark.parametrize("value", [None, "", "a\0b", "\ud800", "abcdef"])
def test_a_text_that_a_database_may_refuse_is_none(value: object) -> None:
    """Control characters, half characters, too many characters."""
    assert not names.is_text(value, 5)
    assert names.is_text("Zoë", 5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("c0ffee00-0000-4000-8000-00000000000a", "c0ffee00-0000-4000-8000-00000000000a"),
        ("C0FFEE00-0000-4000-8000-00000000000A", "c0ffee00-0000-4000-8000-00000000000a"),
        ("c0ffee0000004000800000000000000a", "c0ffee00-0000-4000-8000-00000000000a"),
        ("c0ffee00-0000-4000-8000-00000000000", None),
        ("1_345678123456781234567812345678_1", None),
        ("host1", None),
        ("", None),
    ],
)
def test_a_uuid_in_another_form_becomes_the_one_that_compares(
    value: str, expected: str | None
) -> None:
    """An invalid UUID in any form becomes none."""
    assert names.to_uuid(value) == expected
