"""Metadata of aggregates: allowed values of the keys that are read as more than text."""

from __future__ import annotations

import pytest

from objects.extra_specs.aggregate_metadata import mistakes

A = "0a1d3c5e-7f90-4b21-8c43-5d6e7f8091a2"
B = "1b2e4d6f-8091-4c32-9d54-6e7f8091a2b3"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ram_weight_multiplier", "-1"),
        ("colour_weight_multiplier", " 2.5 "),
        ("cpu_allocation_ratio", "16.0"),
        ("max_instances_per_host", "0"),
        ("max_io_ops_per_host", "8"),
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
        ("ram_weight_multiplier", "abc", "a number"),
        ("metrics_weight_multiplier", "nan", "a number"),
        ("cpu_weight_multiplier", "1e400", "a number"),
        ("cpu_allocation_ratio", "0", "above 0"),
        ("disk_allocation_ratio", "1,2", "above 0"),
        ("max_instances_per_host", "8,16", "whole number"),
        ("max_io_ops_per_host", "-1", "whole number"),
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
