"""Leave hosts out that have too little memory, by aggregate."""

from __future__ import annotations

from scheduler.filters.amounts import Memory, WithinAggregateRatio


class AggregateRamFilter(WithinAggregateRatio):
    """Pass hosts with enough memory, given away as often as their aggregates say.

    The metadata ``ram_allocation_ratio``, a number, overrides the host's own ratio; of several the
    least counts, and where one is no number the host's own does, and the log names the aggregate.
    Else it is as RamFilter. A ratio above that of placement's inventory has no effect: what
    placement does not offer never gets here.
    """

    host_attributes = (*Memory.columns, Memory.ratio)

    resource = Memory()
