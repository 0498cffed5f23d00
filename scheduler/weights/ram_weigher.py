"""Weigher by free memory."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class RAMWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more free memory, spreading instances; a negative multiplier packs them.

    Memory that exists only through the allocation ratio counts as 0.
    """

    host_attributes = ("free_ram_mb",)

    is_host_local = True

    multiplier_option = "ram_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.free_ram_mb)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        free: weights.Numbers = hosts.free_ram_mb
        return free
