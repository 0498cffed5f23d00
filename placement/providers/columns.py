"""Columns over the rows of the provider table: their types, and the inventories of one class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placement.providers.inventory import Inventory

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Numbers = NDArray[np.int64]
Ratios = NDArray[np.float64]


_COLUMNS = (
    "allocation_ratio", "capacity", "max_unit", "min_unit", "reserved", "step_size", "total",
    "used",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alike:
    """Values common to all inventories of a class; None if they differ, or there are none.

    In most fleets ratios, and often all values, are the same everywhere. ``has_steps`` is true if
    any step size is not 1, which is rare.
    """

    total: int | None
    reserved: int | None
    allocation_ratio: float | None
    has_steps: bool


class ClassColumns:
    """The inventories of one resource class; a row without one has zeros and fits nothing."""

    __slots__ = (*_COLUMNS, "_alike")

    def __init__(self, rows: int) -> None:
        self.total: Numbers = np.zeros(rows, np.int64)
        self.reserved: Numbers = np.zeros(rows, np.int64)
        self.min_unit: Numbers = np.ones(rows, np.int64)
        self.max_unit: Numbers = np.zeros(rows, np.int64)
        self.step_size: Numbers = np.ones(rows, np.int64)
        self.allocation_ratio: Ratios = np.ones(rows, np.float64)
        self.capacity: Numbers = np.zeros(rows, np.int64)
        self.used: Numbers = np.zeros(rows, np.int64)
        self._alike: Alike | None = None  # computed on demand, once per change

    @property
    def alike(self) -> Alike:
        """Values common to all rows that have an inventory."""
        if self._alike is None:
            rows = np.flatnonzero(self.max_unit)
            self._alike = Alike(
                total=only_one(self.total[rows]),
                reserved=only_one(self.reserved[rows]),
                allocation_ratio=only_one(self.allocation_ratio[rows]),
                has_steps=bool((self.step_size != 1).any()),
            )
        return self._alike

    def is_multiple(self, amount: int) -> Mask:
        """Return for each row whether its step size divides an amount; 1 always does."""
        if not self.alike.has_steps:
            return np.ones(len(self.step_size), np.bool_)
        mask: Mask = amount % self.step_size == 0
        return mask

    def grow(self, rows: int) -> None:
        """Append blank rows."""
        more = ClassColumns(rows - len(self.total))
        for name in _COLUMNS:
            setattr(self, name, np.concatenate((getattr(self, name), getattr(more, name))))

    def blank(self, rows: Rows) -> None:
        """Clear the inventories of some rows."""
        self._alike = None
        for name in _COLUMNS:
            getattr(self, name)[rows] = name in ("min_unit", "step_size", "allocation_ratio")

    def set_inventories(self, rows: Rows, inventories: Sequence[Inventory]) -> None:
        """Set the inventories of some rows, one each."""
        self._alike = None
        for name in _COLUMNS:
            if name != "used":
                getattr(self, name)[rows] = [getattr(item, name) for item in inventories]


def only_one(column: NDArray[Any]) -> Any:
    """Return the value that all rows have, or None."""
    return column[0].item() if len(column) and (column == column[0]).all() else None
