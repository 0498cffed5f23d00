"""Keep the members of a server group apart."""

from __future__ import annotations

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable

POLICY = "anti-affinity"


class ServerGroupAntiAffinityFilter(filters.BaseHostFilter):
    """Pass hosts that may run one more member of a server group whose policy is ``anti-affinity``.

    The group's rule ``max_server_per_host`` (1 unless given) says how many a host may run. A host
    of the group that no member was reported on yet counts as running one. A host that runs the
    instance itself passes, so that it may be moved within it.
    """

    host_attributes = ("host", "instance_uuids")

    judges_apart = True

    reason_columns = ()

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
        return "runs as many members of the server group as it may"
