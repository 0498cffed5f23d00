"""Weigher by free disk."""

from scheduler.weights.attribute import AttributeWeigher


class DiskWeigher(AttributeWeigher):
    """Prefers hosts with more free disk, spreading instances; a negative multiplier packs them."""

    host_attributes = ("free_disk_mb",)

    multiplier_option = "disk_weight_multiplier"
    minval = 0.0
