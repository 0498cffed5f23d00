"""Leave hosts out that have too little disk."""

from __future__ import annotations

from scheduler.filters.amounts import Disk, WithinRatio


class DiskFilter(WithinRatio):
    """Pass hosts with enough disk, given away as often as their ``disk_allocation_ratio`` says.

    Asked for are the flavor's root, ephemeral and swap disks. What is used may not grow above total
    disk times the ratio, and the instance alone may not have more than the total. The bound goes to
    the host as a limit that it holds its claim against.
    """

    host_attributes = (*Disk.columns, Disk.ratio)

    resource = Disk()
    reason_columns = (*Disk.columns, Disk.ratio)
