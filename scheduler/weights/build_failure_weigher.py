"""Weigher by failed builds: a soft circuit breaker for hosts on which builds keep failing."""

from scheduler.weights.attribute import AttributeWeigher


class BuildFailureWeigher(AttributeWeigher):
    """Avoids hosts with more failed builds; a negative multiplier prefers them.

    The weight is negated and normalised like any other: one failed build costs the whole multiplier
    if no other host has more.
    """

    host_attributes = ("failed_builds",)

    is_steady = True

    multiplier_option = "build_failure_weight_multiplier"
    multiplier_sign = -1
