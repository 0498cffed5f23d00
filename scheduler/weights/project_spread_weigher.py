"""Weigher that spreads the servers of a project, or customer, over hosts."""

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class ProjectSpreadWeigher(weights.BaseHostWeigher):
    """Prefers hosts with fewer servers of the request's project; a negative multiplier, with more.

    It rules out no host: if all of them run servers of the project, the one with the fewest is
    preferred. What agents report counts, and what the same request placed before. The default
    multiplier is 0, which disables the weigher.
    """

    host_attributes = ("stats", "instance_uuids")

    is_host_local = True

    multiplier_option = "project_spread_weight_multiplier"

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        hosts, position = host_state.row
        return -float(_reported(host_state.stats, spec) + _added(hosts, position))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        counts = np.fromiter(
            (_reported(stats, spec) for stats in hosts.column("stats")), np.float64, len(hosts)
        )
        for position in hosts.touched:
            counts[position] += _added(hosts, position)
        return -counts


def _reported(stats: object, spec: RequestSpec) -> int:
    found = stats.get(f"num_proj_{spec.project_id}", 0) if isinstance(stats, dict) else 0
    return found if isinstance(found, int) else 0


def _added(hosts: HostTable, position: int) -> int:
    """Return how many instances this decision has put on a host."""
    known = (
        *(hosts.value("instance_uuids", position) or ()),
        *hosts.value("in_flight_uuids", position),
    )
    return len(hosts.instances_at(position).difference(known))
