"""Keep hosts that have the PCI devices asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oslo_config import cfg

from objects import pci
from objects.allocation_candidates import AllocationRequest
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.cell_usage import offered, wanted_devices
from scheduler.derived_columns import Kinds, once_per_kind
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class PciPassthroughFilter(filters.BaseHostFilter):
    """Pass hosts whose pools of free devices serve all that the flavor asks for.

    The extra spec ``pci_passthrough:alias`` names aliases of ``[pci] alias`` and counts; devices
    are matched by vendor, product and type, and physical functions are given only to those who ask
    for ``type-PF``. Requests without devices pass everywhere, others no host that reports none.

    Where devices are is left to NUMATopologyFilter. Devices that placement counts itself must be of
    the candidate that is claimed; candidates where they are not are withdrawn.
    """

    host_attributes = ("pci_stats",)

    judges_apart = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._pools = Kinds("pci_stats", repr)

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not spec.pci_requests or _has_all(host_state.pci_stats, wanted_devices(spec))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        if not spec.pci_requests:
            return np.ones(len(hosts), dtype=np.bool_)
        requests = wanted_devices(spec)
        kinds, _numbers = self._pools.read(hosts)
        return once_per_kind(
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
            "the devices that placement offers are not those asked for"
        )


def _has_all(pools: Sequence[pci.Pool], requests: Sequence[pci.PciRequest]) -> bool:
    return bool(pools) and pci.assign(pools, requests) is not None
