"""Filter that keeps the members of a server group on one host."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

POLICY = "affinity"


class ServerGroupAffinityFilter(filters.BaseHostFilter):
    """Pass the hosts of the server group's members, if its policy is ``affinity``.

    The first member may use any host. So may instances without a group, or with another policy.
    """

    host_attributes = ("host",)

    reason_columns = ()

    def runs_once_for(self, spec: RequestSpec) -> bool:
        return spec.instance_group is None or spec.instance_group.policy != POLICY

    def is_host_local_for(self, spec: RequestSpec) -> bool:
        """Return False for a group of this policy: its first member excludes all other hosts."""
        return spec.instance_group is None or spec.instance_group.policy != POLICY

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        group = spec.instance_group
        if group is None or group.policy != POLICY or not group.hosts:
            return True
        return host_state.host in group.hosts

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        group = spec.instance_group
        if group is None or group.policy != POLICY or not group.hosts:
            return np.ones(len(hosts), dtype=np.bool_)
        return hosts.named(set(group.hosts))

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "the server group's members are on another host"
