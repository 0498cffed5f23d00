"""Filter that bounds the number of claims on a pool."""

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class PoolClaimsFilter(filters.BaseHostFilter):
    """Pass pools with fewer than ``[claims] pool_claims_max`` claims; 0 sets no limit."""

    is_host_local = True
    reason_columns = ("num_instances",)

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not self._limit or host_state.num_instances < self._limit

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        claims = hosts.num_instances
        mask: filters.Mask = (claims < self._limit) if self._limit else (claims >= 0)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"has {host_state.num_instances} claims, {self._limit} are allowed"

    @property
    def _limit(self) -> int:
        limit: int = self._conf.claims.pool_claims_max
        return limit
