"""Leave hosts out that have too few vCPUs."""

from __future__ import annotations

from scheduler.filters.amounts import Cores
from scheduler.filters.cores import CoresWithinRatio


class CoreFilter(CoresWithinRatio):
    """Pass hosts with enough vCPUs, given away as often as their ``cpu_allocation_ratio`` says.

    What is used may not grow above the host's vCPUs times the ratio, and the instance alone may not
    have more than the host. The bound goes to the host as a limit that it holds its claim against.
    A host that reports no vCPUs at all passes, and the log names it.
    """

    reason_columns = (*Cores.columns, Cores.ratio)
