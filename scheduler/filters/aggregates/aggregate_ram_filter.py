"""Filter by free memory, with allocation ratios from aggregate metadata."""

from scheduler.filters.amounts.resource_amounts import MEMORY, WithinAggregateRatio


class AggregateRamFilter(WithinAggregateRatio):
    """Pass hosts with enough memory under the RAM allocation ratio of their aggregates.

    The metadata ``ram_allocation_ratio``, a number, overrides the host's own ratio. If several
    aggregates set it, the lowest value applies. If a value is not a number, the host's own ratio
    applies and a warning names the aggregate. Otherwise this filter works like RamFilter. A ratio
    above the one in placement's inventory has no effect, because placement does not offer such
    hosts.
    """

    host_attributes = (*MEMORY.columns, MEMORY.ratio)

    resource = MEMORY
