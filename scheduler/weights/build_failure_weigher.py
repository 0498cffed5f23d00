"""Avoid hosts whose builds failed."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class BuildFailureWeigher(weights.BaseHostWeigher):
    """Avoids hosts with more failed builds; a negative multiplier prefers them.

    The weight is negated. It is normalised like any other: one failed build costs the whole
    multiplier when no other host has more.
    """

    host_attributes = ("failed_builds",)

    judges_apart = True
    is_steady = True

    multiplier_option = "build_failure_weight_multiplier"
    multiplier_sign = -1

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.failed_builds)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        failed: weights.Numbers = hosts.failed_builds
        return failed
