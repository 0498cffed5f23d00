"""Weigher by number of instances."""

from scheduler.weights.attribute import AttributeWeigher


class NumInstancesWeigher(AttributeWeigher):
    """Prefers hosts that run more instances; a negative multiplier prefers fewer instances.

    The default multiplier is 0, which disables the weigher.
    """

    host_attributes = ("num_instances",)

    multiplier_option = "num_instances_weight_multiplier"
