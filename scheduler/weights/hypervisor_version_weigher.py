"""Weigher by hypervisor version."""

from scheduler.weights.attribute import AttributeWeigher


class HypervisorVersionWeigher(AttributeWeigher):
    """Prefers hosts with a newer hypervisor; an unknown version counts as the oldest.

    Versions of different hypervisors are compared as plain numbers. If a deployment has several
    hypervisor types, set the multiplier to 0, globally or by aggregate.
    """

    host_attributes = ("hypervisor_version",)

    is_steady = True

    multiplier_option = "hypervisor_version_weight_multiplier"
