"""Keep a host from doing too much disk-heavy work at once, by aggregate."""

from __future__ import annotations

from scheduler.filters.limits import BelowAggregateLimit


class AggregateIoOpsFilter(BelowAggregateLimit):
    """Pass hosts with fewer disk-heavy works in hand than their aggregates allow.

    The metadata ``max_io_ops_per_host``, a whole number, overrides the option of that name in
    ``[filter_scheduler]``; of several the least counts. One that is no number counts as none, and
    the log names its aggregate.
    """

    host_attributes = ("num_io_ops",)

    attribute = "num_io_ops"
    option = "max_io_ops_per_host"
    has_text = "has {} disk-heavy works in hand"
