"""Filter for instances that take the whole memory of a host."""

from scheduler.filters.amounts.resource_amounts import MEMORY, Exactly


class ExactRamFilter(Exactly):
    """Pass hosts whose free memory equals what the flavor needs.

    For machines that one instance uses as a whole. The host's total is sent to it as a limit.
    """

    host_attributes = MEMORY.columns

    resource = MEMORY
    reason_columns = MEMORY.columns
