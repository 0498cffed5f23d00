"""Common base of the weighers by one numeric attribute of a host."""

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class AttributeWeigher(weights.BaseHostWeigher):
    """Base of weighers whose weight is the first of their ``host_attributes``, a number."""

    is_host_local = True

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(getattr(host_state, self.host_attributes[0]))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        column: weights.Numbers = hosts.column(self.host_attributes[0])  # type: ignore[assignment]
        return column
