"""Leave hosts out that have too little memory."""

from __future__ import annotations

from scheduler.filters.amounts import Memory, WithinRatio


class RamFilter(WithinRatio):
    """Pass hosts with enough memory, given away as often as their ``ram_allocation_ratio`` says.

    What is used may not grow above total memory times the ratio, and the instance alone may not
    have more than the total. The bound goes to the host as a limit that it holds its claim against.
    Placement has asked the same before by its own inventory: this only helps where the host's
    figures say less than placement's.
    """

    host_attributes = (*Memory.columns, Memory.ratio)

    resource = Memory()
    reason_columns = (*Memory.columns, Memory.ratio)
