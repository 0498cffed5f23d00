"""The rule of what may be taken: the same for a number and for a column."""

import numpy as np
import pytest

from placement.ledger import feasibility
from placement.ledger.feasibility import Rule
from placement.providers.columns import ClassColumns
from placement.providers.inventory import Inventory


def columns_of(inventory: Inventory, used: int) -> ClassColumns:
    """Return two rows: one without an inventory, and one with it."""
    columns = ClassColumns(2)
    columns.set_inventories(np.array([1]), [inventory])
    columns.used[1] = used
    return columns


@pytest.mark.parametrize(
    ("inventory", "used", "amount", "failed"),
    [
        (Inventory(10, 0, 1, 10, 1, 1.0), 4, 6, []),
        (Inventory(10, 0, 1, 10, 1, 1.0), 5, 6, [Rule.CAPACITY]),
        (Inventory(10, 0, 4, 10, 1, 1.0), 0, 3, [Rule.MIN_UNIT]),
        (Inventory(10, 0, 1, 2, 1, 1.0), 0, 3, [Rule.MAX_UNIT]),
        (Inventory(10, 0, 1, 10, 2, 1.0), 9, 3, [Rule.STEP_SIZE, Rule.CAPACITY]),
    ],
    ids=["fits", "capacity", "min_unit", "max_unit", "step_size and capacity"],
)
def test_numbers_and_columns_fail_the_same_parts(
    inventory: Inventory, used: int, amount: int, failed: list[Rule]
) -> None:
    """Of an inventory and of the row that holds it."""
    columns = columns_of(inventory, used)
    of_number = feasibility.rules(amount, inventory, used)
    of_column = feasibility.rules(amount, columns, columns.used)
    assert [rule for rule, passes in of_number if not passes] == failed
    assert [rule for rule, passes in of_column if not passes[1]] == failed
    assert feasibility.fits(columns, amount).tolist() == [False, not failed]


def test_the_most_of_one_claim_is_bounded_by_max_unit() -> None:
    """And by what is left; without an inventory it is nothing."""
    assert feasibility.free(columns_of(Inventory(10, 0, 1, 4, 1, 1.0), 0)).tolist() == [0, 4]
    assert feasibility.free(columns_of(Inventory(10, 0, 1, 4, 1, 1.0), 8)).tolist() == [0, 2]
