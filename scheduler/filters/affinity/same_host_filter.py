"""Filter that requires the host of a given server."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

HINT = "same_host"


class SameHostFilter(filters.BaseHostFilter):
    """Pass hosts that run at least one of the servers in the hint ``same_host``.

    The hint is a UUID or a list of UUIDs. Without it all hosts pass. If none of the servers runs on
    any host, no host passes.
    """

    host_attributes = ("instance_uuids",)

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        wanted = spec.hint(HINT)
        if not wanted:
            return np.ones(len(hosts), dtype=np.bool_)
        mask: filters.Mask = hosts.count_instances(wanted) > 0
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"runs no server listed in {HINT}"
