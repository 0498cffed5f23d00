"""Filter by free vCPUs, with allocation ratios from aggregate metadata."""

from scheduler.filters.amounts.resource_amounts import CoresWithinRatio, WithinAggregateRatio


class AggregateCoreFilter(CoresWithinRatio, WithinAggregateRatio):
    """Pass hosts with enough vCPUs under the CPU allocation ratio of their aggregates.

    The metadata ``cpu_allocation_ratio``, a number, overrides the host's own ratio. If several
    aggregates set it, the lowest value applies. If a value is not a number, the host's own ratio
    applies and a warning names the aggregate. Otherwise this filter works like CoreFilter. A ratio
    above the one in placement's inventory has no effect, because placement does not offer such
    hosts.
    """
