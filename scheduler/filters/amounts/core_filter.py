"""Filter by free vCPUs."""

from scheduler.filters.amounts.resource_amounts import CORES, CoresWithinRatio


class CoreFilter(CoresWithinRatio):
    """Pass hosts with enough vCPUs under their ``cpu_allocation_ratio``.

    Used vCPUs may not exceed the host's vCPUs times the ratio, and a single instance may not have
    more vCPUs than the host. This maximum is sent to the host as a limit, which it checks when it
    claims. A host that reports no vCPUs passes, and a warning names it.
    """

    reason_columns = (*CORES.columns, CORES.ratio)
