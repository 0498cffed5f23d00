"""Keep a host from doing too much disk-heavy work at once."""

from __future__ import annotations

from scheduler.filters.limits import BelowLimit


class IoOpsFilter(BelowLimit):
    """Pass hosts with fewer than ``[filter_scheduler] max_io_ops_per_host`` disk-heavy works.

    Works in hand are builds, resizes, snapshots, migrations, rescues and unshelves.
    """

    host_attributes = ("num_io_ops",)

    attribute = "num_io_ops"
    reason_columns = ("num_io_ops",)
    option = "max_io_ops_per_host"
    has_text = "has {} disk-heavy works in hand"
