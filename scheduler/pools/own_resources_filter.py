"""Filter that keeps a claim on its pool alone."""

import numpy as np

from objects.allocations.allocation_candidates import AllocationRequest
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class OwnResourcesFilter(filters.BaseHostFilter):
    """Pass pools that serve a claim by themselves, without providers that share with them."""

    run_filter_once_per_request = True
    is_host_local = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        return np.ones(len(hosts), dtype=np.bool_)

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        return set(allocation_request) == {host_state.uuid}

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "needs resources of other providers for it"
