"""Weigher by free disk."""

from scheduler.weights.attribute import AttributeWeigher


class DiskWeigher(AttributeWeigher):
    """Prefers hosts with more free disk, spreading instances; a negative multiplier packs them.

    A host has no more free disk than ``disk_available_least``, which is what the file system of its
    instances can still take, where its driver reports that.
    """

    host_attributes = ("free_disk_mb",)

    multiplier_option = "disk_weight_multiplier"
    minval = 0.0
