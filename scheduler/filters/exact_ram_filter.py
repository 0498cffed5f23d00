"""Give a host's memory away as a whole."""

from __future__ import annotations

from scheduler.filters.amounts import Exactly, Memory


class ExactRamFilter(Exactly):
    """Pass hosts whose free memory is exactly what the flavor asks.

    This is for machines that one instance takes as a whole. The host's total goes to it as a limit.
    """

    host_attributes = Memory.columns

    resource = Memory()
    reason_columns = Memory.columns
