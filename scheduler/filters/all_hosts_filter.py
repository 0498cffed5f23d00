"""Filter that passes every host."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_table import HostTable


class AllHostsFilter(filters.BaseHostFilter):
    """Pass every host: placement alone decides which hosts are weighed."""

    run_filter_once_per_request = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        return np.ones(len(hosts), dtype=np.bool_)
