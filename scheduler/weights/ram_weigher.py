"""Weigher by free memory."""

from scheduler.weights.attribute import AttributeWeigher


class RAMWeigher(AttributeWeigher):
    """Prefers hosts with more free memory, spreading instances; a negative multiplier packs them.

    Memory that exists only through the allocation ratio counts as 0.
    """

    host_attributes = ("free_ram_mb",)

    multiplier_option = "ram_weight_multiplier"
    minval = 0.0
