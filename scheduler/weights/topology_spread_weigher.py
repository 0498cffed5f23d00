"""Weigher that spreads the members of a server group over racks, rooms or other domains."""

import numpy as np
from oslo_config import cfg

from objects.instances.instance_group import SPREAD_POLICIES
from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.topology_domains import NO_DOMAIN, TopologyDomains


class TopologySpreadWeigher(weights.BaseHostWeigher):
    """Prefers domains with fewer members of a group whose policy is ``spread`` or ``soft-spread``.

    The domains are those of TopologySpreadFilter. All domains within the group's ``max_skew`` weigh
    the same; beyond it each member more weighs less, and hosts without the key least.
    """

    host_attributes = ("host", "instance_uuids", "service_up", "service_disabled")

    multiplier_option = "topology_spread_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._domains = TopologyDomains(conf)

    def is_host_local_for(self, spec: RequestSpec) -> bool:
        """Return False for a group to spread: a member counts for all hosts of its domain."""
        return not self.applies_to(spec)

    def applies_to(self, spec: RequestSpec) -> bool:
        return spec.instance_group is not None and spec.instance_group.policy in SPREAD_POLICIES

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        hosts, position = host_state.row
        return float(self.host_weights(hosts, spec)[position])

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        group = spec.instance_group
        if group is None or not self.applies_to(spec):
            return np.zeros(len(hosts))
        found = self._domains.members(hosts, spec)
        excess = np.maximum(found.here + 1 - found.least - group.max_skew, 0)
        worst = excess.max(initial=0) + 1
        counted: weights.Numbers = -np.where(found.here == NO_DOMAIN, worst, excess)
        return counted.astype(np.float64)
