"""Inventory of a resource class on a provider, and validation of inventories."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from armillary import exception
from placement.ledger import feasibility
from placement.ledger.feasibility import Rule

AMOUNT_MAX = 2**31 - 1
RATIO_MAX = 3.40282e38  # the range allowed by the Placement API
CAPACITY_MAX = 2**62  # so that sums with an amount fit 64 bits

_DEFAULTS = {"reserved": 0, "min_unit": 1, "max_unit": AMOUNT_MAX, "step_size": 1}
_LOWEST = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1}
_RATIO_FIELDS = ("allocation_ratio", "initial_allocation_ratio")


@dataclass(frozen=True, slots=True)
class Inventory:
    """A validated inventory."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float

    @property
    def capacity(self) -> int:
        """Maximum total usage: the integer part of (total - reserved) * ratio."""
        capacity = (self.total - self.reserved) * self.allocation_ratio
        return math.floor(min(capacity, CAPACITY_MAX))

    def is_multiple(self, amount: int) -> bool:
        """Return whether the step size divides an amount."""
        return amount % self.step_size == 0

    def refusal(self, amount: int, used: int) -> str | None:
        """Return why ``amount`` cannot be allocated while ``used`` is, or None if it can.

        Candidates apply the same rule to whole columns.
        """
        for rule, passes in feasibility.rules(amount, self, used):
            if not passes:
                return self._sentence(rule, amount, used)
        return None

    def _sentence(self, rule: Rule, amount: int, used: int) -> str:
        match rule:
            case Rule.MIN_UNIT:
                return f"{amount} asked, less than min_unit {self.min_unit}"
            case Rule.MAX_UNIT:
                return f"{amount} asked, more than max_unit {self.max_unit}"
            case Rule.STEP_SIZE:
                return f"{amount} asked, not a multiple of step_size {self.step_size}"
            case Rule.CAPACITY:
                return f"{amount} asked, {max(0, self.capacity - used)} free"

    def to_plain(self) -> dict[str, float]:
        """Return the six values by name."""
        return asdict(self)


def parse_inventory(
    provider: str, resource_class: str, values: Mapping[str, Any], present: Inventory | None
) -> Inventory:
    """Validate an inventory; raise ``InvalidInventory`` with the field and the rule.

    Without an ``allocation_ratio`` the present one is kept; a new inventory gets
    ``initial_allocation_ratio``, or 1.0. The default of ``max_unit`` is the total.
    """
    refuse = _Refusal(provider, resource_class)
    if not isinstance(values, Mapping):
        raise refuse(f"expected an object, not {values!r}")
    if unknown := sorted(set(values) - {*_LOWEST, *_RATIO_FIELDS}):
        raise refuse(f"unknown field {unknown[0]}")
    given = {**_DEFAULTS, "max_unit": values.get("total"), **values}
    whole = {field: _whole(refuse, field, given.get(field)) for field in _LOWEST}
    if whole["reserved"] > whole["total"]:
        raise refuse(f"reserved {whole['reserved']} exceeds total {whole['total']}")
    return Inventory(**whole, allocation_ratio=_ratio(refuse, values, present))


class _Refusal:
    """Builds the error for one inventory."""

    def __init__(self, provider: str, resource_class: str) -> None:
        self._where = {"provider": provider, "resource_class": resource_class}

    def __call__(self, reason: str) -> exception.InvalidInventory:
        return exception.InvalidInventory(reason=reason, **self._where)


def _whole(refuse: _Refusal, field: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(f"{field} must be an integer, not {value!r}")
    if not _LOWEST[field] <= value <= AMOUNT_MAX:
        raise refuse(f"{field} must be from {_LOWEST[field]} to {AMOUNT_MAX}, not {value}")
    return value


def _ratio(refuse: _Refusal, values: Mapping[str, Any], present: Inventory | None) -> float:
    ratio = values.get("allocation_ratio")
    if ratio is None and present is not None:
        return present.allocation_ratio
    if ratio is None:
        ratio = values.get("initial_allocation_ratio")
    if ratio is None:
        ratio = 1.0
    if isinstance(ratio, bool) or not isinstance(ratio, int | float):
        raise refuse(f"allocation_ratio must be a number, not {ratio!r}")
    if not 0 < ratio <= RATIO_MAX:
        raise refuse(
            f"allocation_ratio must be greater than 0 and at most {RATIO_MAX}, not {ratio}"
        )
    return float(ratio)
