"""Reasons that rule out hosts, in words."""

from __future__ import annotations

from typing import Any

import pytest

from objects.traces import ruled_out

ONE = "aaaaaaaa-0000-0000-0000-000000000001"


def lacking(name: str, asked: int, best: int, **more: Any) -> dict[str, Any]:
    return {"kind": "resource", "name": name, "count": 1, "asked": asked, "best": best, **more}


@pytest.mark.parametrize(
    ("rules", "miss"),
    [
        ([], None),
        ([{"kind": "trait", "name": "HW", "count": 1}], None),
        ([lacking("MEMORY_MB", 4096, 2048)], "2,048 MiB of memory"),
        ([lacking("VCPU", 100, 1), lacking("MEMORY_MB", 4096, 4000)], "96 MiB of memory"),
        ([lacking("VCPU", 3, 2)], "1 vCPU"),
        ([lacking("CUSTOM_GPU", 4, -2)], "4 CUSTOM_GPU"),
        ([lacking("VCPU", 3, 8, rule="step_size")], None),
        ([lacking("VCPU", 3, 3)], None),
        ([lacking("VCPU", 3, 2), {"kind": "trait", "name": "HW", "count": 1}], None),
    ],
)
def test_the_nearest_miss_is_that_which_lacks_least_of_what_is_asked(
    rules: list[dict[str, Any]], miss: str | None
) -> None:
    """By its part of what is asked, with a unit that people know."""
    assert ruled_out.nearest_miss(rules) == miss


def test_names_take_the_place_of_uuids() -> None:
    """Wherever they stand; unknown ones stay."""
    assert ruled_out.named(f"{ONE} or {ONE[:-1]}2", {ONE: "ssd"}) == f"ssd or {ONE[:-1]}2"
