"""Metadata of aggregates: allowed values of the keys that are read as more than text."""

import pytest

from objects.extra_specs.aggregate_metadata import invalid_numbers, mistakes

A = "0a1d3c5e-7f90-4b21-8c43-5d6e7f8091a2"
B = "1b2e4d6f-8091-4c32-9d54-6e7f8091a2b3"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ram_weight_multiplier", "-1"),
        ("cpu_allocation_ratio", "abc"),
        ("routed_network", A),
        ("routed_network", f"{A.upper()}, {B}"),
        ("trait:CUSTOM_GPU", "required"),
        ("trait:CUSTOM_GPU", "forbidden"),
        ("ssd", ">="),
        ("filter_tenant_id2", "p1"),
        ("ram_weight_multiplier", None),
    ],
)
def test_what_can_be_read_is_right(key: str, text: str | None) -> None:
    """Null removes a key, and other keys are texts."""
    assert list(mistakes({key: text})) == []


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("routed_network", "red", "UUIDs"),
        ("routed_network", f"{A},", "UUIDs"),
        ("trait:GPU", "required", "Unknown trait GPU"),
        ("trait:CUSTOM_GPU", "yes", "one of required"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_key(key: str, text: str, rule: str) -> None:
    ((found, sentence),) = mistakes({key: text, "fine": "yes"})
    assert found == key
    assert rule in sentence


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ram_weight_multiplier", "abc"),
        ("metrics_weight_multiplier", "nan"),
        ("cpu_weight_multiplier", "1e400"),
        ("disk_allocation_ratio", "1,2"),
        ("max_instances_per_host", "8,16"),
        ("max_io_ops_per_host", "1.5"),
    ],
)
def test_what_has_to_be_a_number_and_is_none_is_found(key: str, text: str) -> None:
    """Filters and weighers use the configured value then."""
    numbers = {"colour_weight_multiplier": " 2.5 ", "cpu_allocation_ratio": "16.0"}
    counts = {"max_instances_per_host": "0", "max_io_ops_per_host": "8", key: text}
    assert invalid_numbers({**numbers, **counts, "ssd": "yes"}) == [key]
