"""Prefer hosts by how many instances they run."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class NumInstancesWeigher(weights.BaseHostWeigher):
    """Prefers hosts that run more instances; fewer when the multiplier is below 0.

    Its default is 0, which does neither.
    """

    host_attributes = ("num_instances",)

    judges_apart = True

    multiplier_option = "num_instances_weight_multiplier"

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.num_instances)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        instances: weights.Numbers = hosts.num_instances
        return instances
