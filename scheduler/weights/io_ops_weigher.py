"""Weigher by disk-heavy operations in progress."""

from scheduler.weights.attribute import AttributeWeigher


class IoOpsWeigher(AttributeWeigher):
    """Prefers hosts with more disk-heavy operations; the negative default prefers idle hosts."""

    host_attributes = ("num_io_ops",)

    multiplier_option = "io_ops_weight_multiplier"
    minval = 0.0
