"""Common base of the weighers for soft server group policies."""

from typing import ClassVar

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class GroupMembersWeigher(weights.BaseHostWeigher):
    """Base of weighers that count the group's members on a host, if the group has ``policy``.

    A host listed in the group counts as running one member, even if no member was reported on it
    yet.
    """

    host_attributes = ("host", "instance_uuids")

    is_host_local = True

    policy: ClassVar[str]
    sign: ClassVar[int] = 1

    def applies_to(self, spec: RequestSpec) -> bool:
        return spec.instance_group is not None and spec.instance_group.policy == self.policy

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        group = spec.instance_group
        if group is None or group.policy != self.policy:
            return 0.0
        members = len(host_state.instances.intersection(group.members))
        return float(self.sign * max(members, host_state.host in group.hosts))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        group = spec.instance_group
        if group is None or group.policy != self.policy:
            return np.zeros(len(hosts))
        members = hosts.count_instances(group.members)
        counted: weights.Numbers = self.sign * np.maximum(members, hosts.named(set(group.hosts)))
        return counted
