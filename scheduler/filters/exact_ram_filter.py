"""Filter for instances that take the whole memory of a host."""

from __future__ import annotations

from scheduler.filters.resource_amounts import Exactly, Memory


class ExactRamFilter(Exactly):
    """Pass hosts whose free memory equals what the flavor needs.

    For machines that one instance uses as a whole. The host's total is sent to it as a limit.
    """

    host_attributes = Memory.columns

    resource = Memory()
    reason_columns = Memory.columns
