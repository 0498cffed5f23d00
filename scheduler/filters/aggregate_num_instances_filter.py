"""Keep a host from filling up with small instances, by aggregate."""

from __future__ import annotations

from scheduler.filters.limits import BelowAggregateLimit


class AggregateNumInstancesFilter(BelowAggregateLimit):
    """Pass hosts that run fewer instances than their aggregates allow.

    The metadata ``max_instances_per_host``, a whole number, overrides the option of that name in
    ``[filter_scheduler]``; of several the least counts. One that is no number counts as none, and
    the log names its aggregate.
    """

    host_attributes = ("num_instances",)

    attribute = "num_instances"
    option = "max_instances_per_host"
    has_text = "runs {} instances"
