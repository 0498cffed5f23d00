"""Weigher by number of instances."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class NumInstancesWeigher(weights.BaseHostWeigher):
    """Prefers hosts that run more instances; a negative multiplier prefers fewer instances.

    The default multiplier is 0, which disables the weigher.
    """

    host_attributes = ("num_instances",)

    is_host_local = True

    multiplier_option = "num_instances_weight_multiplier"

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.num_instances)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        instances: weights.Numbers = hosts.num_instances
        return instances
