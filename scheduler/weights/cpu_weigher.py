"""Weigher by free vCPUs."""

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class CPUWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more free vCPUs, spreading instances; a negative multiplier packs them.

    Free vCPUs are the host's vCPUs times the CPU allocation ratio, minus those in use.
    """

    host_attributes = ("vcpus_total", "vcpus_used", "cpu_allocation_ratio")

    is_host_local = True

    multiplier_option = "cpu_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        free: float = (
            host_state.vcpus_total * host_state.cpu_allocation_ratio - host_state.vcpus_used
        )
        return free

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        free: weights.Numbers = hosts.vcpus_total * hosts.cpu_allocation_ratio - hosts.vcpus_used
        return free
