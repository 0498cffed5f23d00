"""Filter by concurrent disk-heavy operations."""

from scheduler.filters.amounts.limits import BelowLimit


class IoOpsFilter(BelowLimit):
    """Pass hosts with fewer than ``[filter_scheduler] max_io_ops_per_host`` disk-heavy operations.

    These are builds, resizes, snapshots, migrations, rescues and unshelves in progress.
    """

    host_attributes = ("num_io_ops",)

    attribute = "num_io_ops"
    reason_columns = ("num_io_ops",)
    option = "max_io_ops_per_host"
    has_text = "its number of disk-heavy operations is {}"
