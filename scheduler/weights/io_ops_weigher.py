"""Prefer hosts by the disk-heavy work they have in hand."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class IoOpsWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more builds and the like in hand; its negative default, idle hosts."""

    host_attributes = ("num_io_ops",)

    judges_apart = True

    multiplier_option = "io_ops_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.num_io_ops)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        operations: weights.Numbers = hosts.num_io_ops
        return operations
