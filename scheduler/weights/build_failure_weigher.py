"""Weigher by failed builds."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class BuildFailureWeigher(weights.BaseHostWeigher):
    """Avoids hosts with more failed builds; a negative multiplier prefers them.

    The weight is negated and normalised like any other: one failed build costs the whole multiplier
    if no other host has more.
    """

    host_attributes = ("failed_builds",)

    is_host_local = True
    is_steady = True

    multiplier_option = "build_failure_weight_multiplier"
    multiplier_sign = -1

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.failed_builds)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        failed: weights.Numbers = hosts.failed_builds
        return failed
