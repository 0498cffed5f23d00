"""Keep a host from filling up with small instances."""

from __future__ import annotations

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class NumInstancesFilter(filters.BaseHostFilter):
    """Pass hosts that run fewer than ``[filter_scheduler] max_instances_per_host`` instances."""

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return bool(host_state.num_instances < self._limit)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = hosts.num_instances < self._limit
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"runs {host_state.num_instances} instances, {self._limit} are allowed"

    @property
    def _limit(self) -> int:
        limit: int = self._conf.filter_scheduler.max_instances_per_host
        return limit
