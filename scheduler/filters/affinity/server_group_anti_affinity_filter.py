"""Filter that keeps the members of a server group on different hosts (distinct hosts)."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

POLICY = "anti-affinity"


class ServerGroupAntiAffinityFilter(filters.BaseHostFilter):
    """Pass hosts that may run one more member of a server group whose policy is ``anti-affinity``.

    The group's rule ``max_server_per_host`` (default 1) is the maximum number of members on a host.
    A host listed in the group counts as running one member, even if no member was reported on it
    yet. A host that runs the instance itself passes, so that the instance can be resized in place.
    """

    host_attributes = ("host", "instance_uuids")

    is_host_local = True

    reason_columns = ()

    def runs_once_for(self, spec: RequestSpec) -> bool:
        return spec.instance_group is None or spec.instance_group.policy != POLICY

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        group = spec.instance_group
        if group is None or group.policy != POLICY:
            return True
        instances = host_state.instances
        if spec.instance_uuid in instances:
            return True
        members = len(instances.intersection(group.members))
        return max(members, host_state.host in group.hosts) < group.max_server_per_host

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        group = spec.instance_group
        if group is None or group.policy != POLICY:
            return np.ones(len(hosts), dtype=np.bool_)
        members = hosts.count_instances(group.members)
        at_least = hosts.named(set(group.hosts))
        mask: filters.Mask = np.maximum(members, at_least) < group.max_server_per_host
        if spec.instance_uuid:
            mask |= hosts.count_instances([spec.instance_uuid]) > 0
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "already runs the maximum number of members of the server group"
