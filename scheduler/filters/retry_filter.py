"""Filter that excludes hosts where a build of the instance was already attempted."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class RetryFilter(filters.BaseHostFilter):
    """Pass nodes on which this instance was not attempted yet, other nodes of their hosts included.

    Builds are retried on alternates, which are different nodes anyway. This filter is for requests
    that return to the scheduler with the nodes already attempted.
    """

    host_attributes = ("host", "nodename")

    is_host_local = True

    reason_columns = ()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return spec.retry is None or [host_state.host, host_state.nodename] not in spec.retry.hosts

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask = np.ones(len(hosts), dtype=np.bool_)
        for host, node in spec.retry.hosts if spec.retry is not None else ():
            for position in hosts.positions_named([host]):
                mask[position] &= hosts.nodename[position] != node
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "was already attempted"
