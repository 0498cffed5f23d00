"""Prefer hosts with a newer hypervisor."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class HypervisorVersionWeigher(weights.BaseHostWeigher):
    """Prefers hosts whose hypervisor is newer; an unknown version is the oldest.

    Versions of different hypervisors are compared as if they were of one: where a fleet has several
    kinds, set the multiplier to 0, or by aggregate.
    """

    host_attributes = ("hypervisor_version",)

    judges_apart = True
    is_steady = True

    multiplier_option = "hypervisor_version_weight_multiplier"

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.hypervisor_version)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        versions: weights.Numbers = hosts.hypervisor_version
        return versions
