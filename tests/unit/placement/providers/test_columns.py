"""The inventories of a class as columns: what they have in common, and what a step size divides."""

import dataclasses

import numpy as np
import pytest

from placement.providers.columns import Alike, ClassColumns
from placement.providers.inventory import Inventory

EIGHT = Inventory(8, 1, 1, 8, 1, 2.5)


def a_class(*inventories: Inventory) -> ClassColumns:
    """Return columns of one row more than there are inventories: the first row has none."""
    columns = ClassColumns(len(inventories) + 1)
    columns.set_inventories(np.arange(len(inventories)) + 1, inventories)
    return columns


def test_rows_without_an_inventory_do_not_count() -> None:
    """They have nothing that could differ."""
    assert a_class(EIGHT, EIGHT).alike == Alike(8, 1, 2.5, has_steps=False)
    assert a_class().alike == Alike(None, None, None, has_steps=False)


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({"total": 9}, Alike(None, 1, 2.5, has_steps=False)),
        ({"reserved": 0}, Alike(8, None, 2.5, has_steps=False)),
        ({"allocation_ratio": 1.0}, Alike(8, 1, None, has_steps=False)),
        ({"step_size": 2}, Alike(8, 1, 2.5, has_steps=True)),
    ],
    ids=["total", "reserved", "allocation_ratio", "step_size"],
)
def test_what_differs_is_noticed_when_a_row_comes(change: dict[str, float], alike: Alike) -> None:
    """Though what all had in common was asked for before; and when it goes again."""
    columns = a_class(EIGHT)
    columns.grow(3)
    before = columns.alike
    columns.set_inventories(np.array([2]), [dataclasses.replace(EIGHT, **change)])  # type: ignore[arg-type]
    assert columns.alike == alike
    columns.blank(np.array([2]))
    assert columns.alike == before


def test_a_step_size_divides_amounts_row_by_row() -> None:
    """A row without an inventory takes every amount, of which it has none."""
    columns = a_class(EIGHT, dataclasses.replace(EIGHT, step_size=2))
    assert columns.is_multiple(3).tolist() == [True, True, False]
    assert columns.is_multiple(4).tolist() == [True, True, True]
    assert a_class(EIGHT).is_multiple(3).tolist() == [True, True]
