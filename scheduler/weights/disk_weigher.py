"""Weigher by free disk."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class DiskWeigher(weights.BaseHostWeigher):
    """Prefers hosts with more free disk, spreading instances; a negative multiplier packs them."""

    host_attributes = ("free_disk_mb",)

    is_host_local = True

    multiplier_option = "disk_weight_multiplier"
    minval = 0.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.free_disk_mb)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        free: weights.Numbers = hosts.free_disk_mb
        return free
