"""Filter for instances that take the whole disk of a host."""

from scheduler.filters.amounts.resource_amounts import DISK, Exactly


class ExactDiskFilter(Exactly):
    """Pass hosts whose free disk equals the sum of the flavor's root, ephemeral and swap disks.

    For machines that one instance uses as a whole. The host's total is sent to it as a limit.
    Placement counts disk in GiB: where free disk comes from placement, a flavor whose swap is not a
    whole number of GiB matches no host.
    """

    host_attributes = DISK.columns

    resource = DISK
    reason_columns = DISK.columns
