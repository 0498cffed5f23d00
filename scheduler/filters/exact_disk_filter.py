"""Give a host's disk away as a whole."""

from __future__ import annotations

from scheduler.filters.amounts import Disk, Exactly


class ExactDiskFilter(Exactly):
    """Pass hosts whose free disk is exactly the flavor's root, ephemeral and swap disks together.

    This is for machines that one instance takes as a whole. The host's total goes to it as a limit.
    Placement reckons disk in GiB: where it says what is free, a flavor whose swap is no whole
    number of GiB matches no host.
    """

    host_attributes = Disk.columns

    resource = Disk()
    reason_columns = Disk.columns
