"""What the weighers of soft server group policies have in common."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class GroupMembersWeigher(weights.BaseHostWeigher):
    """Base of these: the members of the request's group on a host, when the group has ``policy``.

    A host of the group that no member was reported on yet counts as running one.
    """

    host_attributes = ("host", "instance_uuids")

    judges_apart = True

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
