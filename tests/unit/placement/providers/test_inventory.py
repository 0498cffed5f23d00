"""Inventories: the capacity rule, and what is refused at the door."""

from typing import Any

import pytest

from armillary import exception
from placement.providers.inventory import AMOUNT_MAX, Inventory, parse_inventory

PROVIDER = "c0ffee00-0000-4000-8000-000000000001"


def an_inventory(**values: Any) -> Inventory:
    return parse_inventory(PROVIDER, "VCPU", {"total": 10, **values}, None)


@pytest.mark.parametrize(
    ("values", "capacity"),
    [
        ({}, 10),
        ({"reserved": 10}, 0),
        ({"reserved": 2, "allocation_ratio": 1.5}, 12),
        ({"allocation_ratio": 0.05}, 0),
        ({"allocation_ratio": 1.55}, 15),
        ({"total": AMOUNT_MAX, "allocation_ratio": 3.4e38}, 2**62),
    ],
    ids=["plain", "all reserved", "overcommitted", "less than one", "a fraction", "huge"],
)
def test_capacity_is_the_whole_part_of_what_the_ratio_makes(
    values: dict[str, Any], capacity: int
) -> None:
    """(total - reserved) * ratio."""
    assert an_inventory(**values).capacity == capacity


@pytest.mark.parametrize(
    ("values", "amount", "used", "reason"),
    [
        ({}, 10, 0, None),
        ({}, 1, 10, "1 asked, 0 free"),
        ({}, 1, 12, "1 asked, 0 free"),
        ({"max_unit": 4}, 5, 0, "5 asked, more than max_unit 4"),
        ({"min_unit": 2}, 1, 0, "1 asked, less than min_unit 2"),
        ({"step_size": 4}, 6, 0, "6 asked, not a multiple of step_size 4"),
    ],
    ids=["the last one", "full", "more than full", "max_unit", "min_unit", "step_size"],
)
def test_what_does_not_fit_is_refused_with_the_figures(
    values: dict[str, Any], amount: int, used: int, reason: str | None
) -> None:
    """Each rule has its sentence."""
    assert an_inventory(**values).refusal(amount, used) == reason


def test_max_unit_is_the_total_unless_given() -> None:
    """One consumer may take everything."""
    assert an_inventory().max_unit == 10


@pytest.mark.parametrize(
    ("values", "present", "ratio"),
    [
        ({"allocation_ratio": 2.0, "initial_allocation_ratio": 4.0}, 8.0, 2.0),
        ({"allocation_ratio": None, "initial_allocation_ratio": 4.0}, 8.0, 8.0),
        ({"allocation_ratio": None, "initial_allocation_ratio": 4.0}, None, 4.0),
        ({}, None, 1.0),
    ],
    ids=["given", "kept", "initial", "none"],
)
def test_the_ratio_is_the_given_the_present_or_the_initial_one(
    values: dict[str, Any], present: float | None, ratio: float
) -> None:
    """A null ratio keeps what an operator set."""
    before = an_inventory(allocation_ratio=present) if present else None
    made = parse_inventory(PROVIDER, "VCPU", {"total": 10, **values}, before)
    assert made.allocation_ratio == ratio


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"total": 0}, "total"),
        ({"total": None}, "total"),
        ({"total": 2**31}, "total"),
        ({"total": True}, "total"),
        ({"total": 8.0}, "total"),
        ({"reserved": -1}, "reserved"),
        ({"reserved": 11}, "reserved"),
        ({"min_unit": 0}, "min_unit"),
        ({"max_unit": "4"}, "max_unit"),
        ({"step_size": 0}, "step_size"),
        ({"allocation_ratio": 0}, "allocation_ratio"),
        ({"allocation_ratio": float("nan")}, "allocation_ratio"),
        ({"allocation_ratio": "16"}, "allocation_ratio"),
        ({"totl": 4}, "totl"),
    ],
)
def test_a_figure_that_makes_no_sense_is_refused_by_name(
    values: dict[str, Any], field: str
) -> None:
    """The error names the field, the class and the provider."""
    with pytest.raises(exception.InvalidInventory, match=f"VCPU on provider {PROVIDER}: .*{field}"):
        an_inventory(**values)
