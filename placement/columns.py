"""Columns over the rows of the provider table: their types, and the inventories of one class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placement.inventory import Inventory

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Numbers = NDArray[np.int64]
Ratios = NDArray[np.float64]


class ClassColumns:
    """The inventories of one resource class; a row without one has zero of it and fits nothing."""

    __slots__ = (
        "allocation_ratio",
        "capacity",
        "max_unit",
        "min_unit",
        "reserved",
        "step_size",
        "total",
        "used",
    )

    def __init__(self, rows: int) -> None:
        self.total: Numbers = np.zeros(rows, np.int64)
        self.reserved: Numbers = np.zeros(rows, np.int64)
        self.min_unit: Numbers = np.ones(rows, np.int64)
        self.max_unit: Numbers = np.zeros(rows, np.int64)
        self.step_size: Numbers = np.ones(rows, np.int64)
        self.allocation_ratio: Ratios = np.ones(rows, np.float64)
        self.capacity: Numbers = np.zeros(rows, np.int64)
        self.used: Numbers = np.zeros(rows, np.int64)

    def grow(self, rows: int) -> None:
        """Add blank rows at the end."""
        more = ClassColumns(rows - len(self.total))
        for name in self.__slots__:
            setattr(self, name, np.concatenate((getattr(self, name), getattr(more, name))))

    def blank(self, rows: Rows) -> None:
        """Forget the inventories of some rows."""
        for name in self.__slots__:
            getattr(self, name)[rows] = name in ("min_unit", "step_size", "allocation_ratio")

    def set_inventories(self, rows: Rows, inventories: Sequence[Inventory]) -> None:
        """Write the inventories of some rows, one each."""
        for name in self.__slots__:
            if name != "used":
                getattr(self, name)[rows] = [getattr(item, name) for item in inventories]
