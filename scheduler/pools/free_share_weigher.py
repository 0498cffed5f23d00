"""Weigher by the free share of a pool."""

from objects.request_spec import RequestSpec
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.pools.weigher import PoolWeigher
from scheduler.weights import Numbers


class FreeShareWeigher(PoolWeigher):
    """Prefers pools with the greater free share, spreading claims; a negative multiplier fills.

    Of several requested resource classes the scarcest one counts.
    """

    minval = 0.0
    maxval = 1.0

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.free_share)

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> Numbers:
        column: Numbers = hosts.column("free_share")  # type: ignore[assignment]  # it is declared so
        return column
