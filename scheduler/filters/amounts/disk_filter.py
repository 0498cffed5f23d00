"""Filter by free disk."""

from scheduler.filters.amounts.resource_amounts import DISK, WithinRatio


class DiskFilter(WithinRatio):
    """Pass hosts with enough disk under their ``disk_allocation_ratio``.

    The request needs the sum of the flavor's root, ephemeral and swap disks. Used disk may not
    exceed the total times the ratio, and a single instance may not need more than the total. This
    maximum is sent to the host as a limit, which it checks when it claims.
    """

    host_attributes = (*DISK.columns, DISK.ratio)

    resource = DISK
    reason_columns = (*DISK.columns, DISK.ratio)
