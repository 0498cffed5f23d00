"""Filter that excludes hosts where a build of the instance was already attempted."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class RetryFilter(filters.BaseHostFilter):
    """Pass hosts on which this instance was not attempted yet.

    Builds are retried on alternates, which are different hosts anyway. This filter is for requests
    that return to the scheduler with the hosts already attempted.
    """

    host_attributes = ("host",)

    is_host_local = True

    reason_columns = ()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return spec.retry is None or host_state.host not in spec.retry.hosts

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        if spec.retry is None:
            return np.ones(len(hosts), dtype=np.bool_)
        return ~hosts.named(set(spec.retry.hosts))

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "was already attempted"
