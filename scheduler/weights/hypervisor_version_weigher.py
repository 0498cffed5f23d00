"""Weigher by hypervisor version."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class HypervisorVersionWeigher(weights.BaseHostWeigher):
    """Prefers hosts with a newer hypervisor; an unknown version counts as the oldest.

    Versions of different hypervisors are compared as plain numbers. If a deployment has several
    hypervisor types, set the multiplier to 0, globally or by aggregate.
    """

    host_attributes = ("hypervisor_version",)

    is_host_local = True
    is_steady = True

    multiplier_option = "hypervisor_version_weight_multiplier"

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.hypervisor_version)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        versions: weights.Numbers = hosts.hypervisor_version
        return versions
