"""Prefer hosts by their free memory."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class RAMWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more free memory, so instances spread; a negative multiplier packs them.

    Memory beyond the host's own, which an allocation ratio allows to give away, counts as none.
    """

    host_attributes = ("free_ram_mb",)

    judges_apart = True

    multiplier_option = "ram_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.free_ram_mb)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        free: weights.Numbers = hosts.free_ram_mb
        return free
