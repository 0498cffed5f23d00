"""Weigher by disk-heavy operations in progress."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class IoOpsWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more disk-heavy operations; the negative default prefers idle hosts."""

    host_attributes = ("num_io_ops",)

    is_host_local = True

    multiplier_option = "io_ops_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.num_io_ops)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        operations: weights.Numbers = hosts.num_io_ops
        return operations
