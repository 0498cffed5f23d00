"""Filter by free PCI devices."""

from collections.abc import Sequence

import numpy as np
from oslo_config import cfg

from objects.allocations.allocation_candidates import AllocationRequest
from objects.pci import pci
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.derived_columns import HostClasses, once_per_class
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa.numa_usage import offered, wanted_devices


class PciPassthroughFilter(filters.BaseHostFilter):
    """Pass hosts with free PCI devices for all that the flavor requests.

    The extra spec ``pci_passthrough:alias`` lists aliases of ``[pci] alias`` and counts. Devices
    are matched by vendor, product and type; physical functions are given only to requests for
    ``type-PF``. Requests without devices pass everywhere; requests with devices pass on no host
    that reports none. NUMATopologyFilter checks where the devices are. Devices that placement
    tracks must belong to the claimed candidate; candidates with other devices are rejected.
    """

    host_attributes = ("pci_stats",)

    is_host_local = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._pools = HostClasses("pci_stats", repr)

    def runs_once_for(self, spec: RequestSpec) -> bool:
        return not spec.pci_requests

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not spec.pci_requests or _has_all(host_state.pci_stats, wanted_devices(spec))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        if not spec.pci_requests:
            return np.ones(len(hosts), dtype=np.bool_)
        requests = wanted_devices(spec)
        kinds, _numbers = self._pools.read(hosts)
        return once_per_class(
            kinds, lambda position: _has_all(hosts.value("pci_stats", position), requests)
        )

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        if not spec.pci_requests:
            return True
        pools = offered(host_state.pci_stats, allocation_request)
        return pools is host_state.pci_stats or _has_all(pools, wanted_devices(spec))

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        pools = host_state.pci_stats
        if not pools:
            return "has no free PCI devices"
        return pci.why_not(pools, wanted_devices(spec)) or (
            "the devices that placement offers do not match the request"
        )


def _has_all(pools: Sequence[pci.Pool], requests: Sequence[pci.PciRequest]) -> bool:
    return bool(pools) and pci.assign(pools, requests) is not None
