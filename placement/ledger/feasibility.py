"""Rule for amounts taken of an inventory, for single claims and for columns of candidates."""

import enum
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Rule(enum.Enum):
    """A part of the rule, in the order of evaluation."""

    MIN_UNIT = "min_unit"
    MAX_UNIT = "max_unit"
    STEP_SIZE = "step_size"
    CAPACITY = "capacity"


class Figures(Protocol):
    """An inventory, or the inventories of a class as columns."""

    @property
    def min_unit(self) -> Any: ...
    @property
    def max_unit(self) -> Any: ...
    @property
    def capacity(self) -> Any: ...
    def is_multiple(self, amount: Any) -> Any: ...


class UsedFigures(Figures, Protocol):
    """The same with the current usage."""

    @property
    def used(self) -> Any: ...


def rules(amount: Any, figures: Figures, used: Any) -> Iterator[tuple[Rule, Any]]:
    """Yield each part, and whether an amount passes it given what is ``used``.

    Amount, figures and used can be numbers or arrays.
    """
    yield Rule.MIN_UNIT, figures.min_unit <= amount
    yield Rule.MAX_UNIT, amount <= figures.max_unit
    yield Rule.STEP_SIZE, figures.is_multiple(amount)
    yield Rule.CAPACITY, amount <= figures.capacity - used


def fits(columns: UsedFigures, amount: int) -> NDArray[np.bool_]:
    """Return for each row whether one claim could take an amount of it."""
    passes = [passes for _, passes in rules(amount, columns, columns.used)]
    mask: NDArray[np.bool_] = np.logical_and.reduce(passes)
    return mask


def free(columns: UsedFigures) -> NDArray[np.int64]:
    """Return the largest amount that one claim could take of each row."""
    most: NDArray[np.int64] = np.minimum(columns.capacity - columns.used, columns.max_unit)
    return most
