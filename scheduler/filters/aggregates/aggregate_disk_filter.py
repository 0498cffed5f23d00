"""Filter by free disk, with allocation ratios from aggregate metadata."""

from scheduler.filters.amounts.resource_amounts import DISK, WithinAggregateRatio


class AggregateDiskFilter(WithinAggregateRatio):
    """Pass hosts with enough disk under the disk allocation ratio of their aggregates.

    The metadata ``disk_allocation_ratio``, a number, overrides the host's own ratio. If several
    aggregates set it, the lowest value applies. If a value is not a number, the host's own ratio
    applies and a warning names the aggregate. Otherwise this filter works like DiskFilter. A ratio
    above the one in placement's inventory has no effect, because placement does not offer such
    hosts.
    """

    host_attributes = (*DISK.columns, DISK.ratio)

    resource = DISK
