"""Weigher that keeps hosts with PCI devices free for requests with devices."""

from collections.abc import Sequence

from oslo_config import cfg

from objects.pci import pci
from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

_DEVICES_MAX = 99
"""Maximum number of free devices that count."""


class PCIWeigher(weights.BaseHostWeigher):
    """Prefers hosts with fewer free PCI devices, whether or not the request asks for devices.

    Requests without devices thus avoid hosts that have some, and requests with devices use hosts
    where few are left. The weight is 100 minus the number of free devices, of which at most 99
    count. The multiplier must not be negative.
    """

    host_attributes = ("pci_stats",)

    is_host_local = True

    multiplier_option = "pci_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._pools = Reports("pci_stats")
        self._weights = Derived(_weight)

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(_weight(host_state.pci_stats))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        return self._pools.numbers(hosts, self._weights)


def _weight(pools: Sequence[pci.Pool] | None) -> int:
    return 100 - min(pci.count_free(pools), _DEVICES_MAX) if pools else 100
