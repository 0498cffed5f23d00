"""Filter for instances that take all vCPUs of a host."""

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters.amounts.resource_amounts import CORES, Exactly
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class ExactCoreFilter(Exactly):
    """Pass hosts with exactly as many unused vCPUs as the flavor needs.

    For machines that one instance uses as a whole. The host's total is sent to it as a limit. A
    host that reports no vCPUs fails.
    """

    host_attributes = CORES.columns

    resource = CORES
    reason_columns = CORES.columns

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return host_state.vcpus_total != 0 and super().host_passes(host_state, spec)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = super().host_mask(hosts, spec) & (hosts.vcpus_total != 0)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        if host_state.vcpus_total == 0:
            return "reports no vCPUs"
        return super().explain(host_state, spec)
