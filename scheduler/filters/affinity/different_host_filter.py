"""Filter that avoids the hosts of given servers."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

HINT = "different_host"


class DifferentHostFilter(filters.BaseHostFilter):
    """Pass hosts that run none of the servers in the hint ``different_host``.

    The hint is a UUID or a list of UUIDs. Without it all hosts pass. A UUID that runs on no host
    excludes nothing.
    """

    host_attributes = ("instance_uuids",)

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        unwanted = spec.hint(HINT)
        if not unwanted:
            return np.ones(len(hosts), dtype=np.bool_)
        mask: filters.Mask = hosts.count_instances(unwanted) == 0
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"runs a server listed in {HINT}"
