"""Filter for topology spread: members of a server group over racks, rooms or other domains."""

import numpy as np
from oslo_config import cfg

from objects.instances.instance_group import SPREAD
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Numbers
from scheduler.hosts.topology_domains import NO_DOMAIN, TopologyDomains


class TopologySpreadFilter(filters.BaseHostFilter):
    """Pass hosts whose domain may have one more member of a group with the policy ``spread``.

    A domain is a value of the aggregate metadata key that the group's rule ``topology_key`` names,
    such as ``rack``. With one more member, the host's domain may have at most ``max_skew`` (default
    1) members more than the domain with the fewest. A domain counts as long as one of its hosts in
    the requested availability zone is up and enabled, also if all of them are full. Hosts without
    the key do not pass. Alternates are in the domain of the selected host.
    """

    host_attributes = ("host", "instance_uuids", "service_up", "service_disabled")

    reason_columns = ()

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._domains = TopologyDomains(conf)

    def runs_once_for(self, spec: RequestSpec) -> bool:
        return spec.instance_group is None or spec.instance_group.policy != SPREAD

    def is_host_local_for(self, spec: RequestSpec) -> bool:
        """Return False for a group of this policy: a member counts for all hosts of its domain."""
        return spec.instance_group is None or spec.instance_group.policy != SPREAD

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        group = spec.instance_group
        if group is None or group.policy != SPREAD:
            return np.ones(len(hosts), dtype=np.bool_)
        mask: filters.Mask = ~self._domains.members(hosts, spec).exceeds(group.max_skew)
        return mask

    def alternate_groups(self, hosts: HostTable, spec: RequestSpec) -> Numbers | None:
        group = spec.instance_group
        if group is None or group.policy != SPREAD:
            return None
        return self._domains.of_hosts(hosts, group.topology_key)

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        group = spec.instance_group
        assert group is not None
        hosts, position = host_state.row
        found = self._domains.members(hosts, spec)
        here = found.here.item(position)
        if here == NO_DOMAIN:
            return f"no aggregate of the host has the metadata {group.topology_key}"
        return (
            f"its {group.topology_key} has {here} members of the server group, another one "
            f"{found.least}; the greatest difference allowed is {group.max_skew}"
        )
