"""Filter by concurrent disk-heavy operations, with limits from aggregate metadata."""

from scheduler.filters.amounts.limits import BelowAggregateLimit


class AggregateIoOpsFilter(BelowAggregateLimit):
    """Pass hosts with fewer disk-heavy operations in progress than their aggregates allow.

    The metadata ``max_io_ops_per_host``, an integer, overrides the option of that name in
    ``[filter_scheduler]``. If several aggregates set it, the lowest value applies. A value that is
    not an integer is ignored, and a warning names the aggregate.
    """

    host_attributes = ("num_io_ops",)

    attribute = "num_io_ops"
    option = "max_io_ops_per_host"
    has_text = "its number of disk-heavy operations is {}"
