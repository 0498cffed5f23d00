"""Filter by number of instances, with limits from aggregate metadata."""

from scheduler.filters.amounts.limits import BelowAggregateLimit


class AggregateNumInstancesFilter(BelowAggregateLimit):
    """Pass hosts that run fewer instances than their aggregates allow.

    The metadata ``max_instances_per_host``, an integer, overrides the option of that name in
    ``[filter_scheduler]``. If several aggregates set it, the lowest value applies. A value that is
    not an integer is ignored, and a warning names the aggregate.
    """

    host_attributes = ("num_instances",)

    attribute = "num_instances"
    option = "max_instances_per_host"
    has_text = "its number of instances is {}"
