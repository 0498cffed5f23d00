"""Filter by number of instances."""

from scheduler.filters.amounts.limits import BelowLimit


class NumInstancesFilter(BelowLimit):
    """Pass hosts that run fewer than ``[filter_scheduler] max_instances_per_host`` instances."""

    host_attributes = ("num_instances",)

    attribute = "num_instances"
    reason_columns = ("num_instances",)
    option = "max_instances_per_host"
    has_text = "its number of instances is {}"
