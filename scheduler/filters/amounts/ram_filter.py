"""Filter by free memory."""

from scheduler.filters.amounts.resource_amounts import MEMORY, WithinRatio


class RamFilter(WithinRatio):
    """Pass hosts with enough memory under their ``ram_allocation_ratio``.

    Used memory may not exceed the total times the ratio, and a single instance may not need more
    than the total. This maximum is sent to the host as a limit, which it checks when it claims.
    Placement already checked the same against its inventory: this filter only matters if the host
    reports less than placement knows.
    """

    host_attributes = (*MEMORY.columns, MEMORY.ratio)

    resource = MEMORY
    reason_columns = (*MEMORY.columns, MEMORY.ratio)
