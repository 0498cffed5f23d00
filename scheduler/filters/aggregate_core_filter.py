"""Leave hosts out that have too few vCPUs, by aggregate."""

from __future__ import annotations

from scheduler.filters.amounts import WithinAggregateRatio
from scheduler.filters.cores import CoresWithinRatio


class AggregateCoreFilter(CoresWithinRatio, WithinAggregateRatio):
    """Pass hosts with enough vCPUs, given away as often as their aggregates say.

    The metadata ``cpu_allocation_ratio``, a number, overrides the host's own ratio; of several the
    least counts, and where one is no number the host's own does, and the log names the aggregate.
    Else it is as CoreFilter. A ratio above that of placement's inventory has no effect: what
    placement does not offer never gets here.
    """
