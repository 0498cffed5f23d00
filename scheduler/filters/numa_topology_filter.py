"""Filter by NUMA topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from objects import numa
from objects.allocations.allocation_candidates import AllocationRequest
from objects.pci import pci
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa.numa_fit import NumaFit
from scheduler.hosts.numa.numa_usage import (
    NumaTopologyCache,
    offered,
    wanted_devices,
    wanted_topology,
)

_RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio")


class NUMATopologyFilter(filters.BaseHostFilter):
    """Pass hosts on which each NUMA cell of the guest fits into a NUMA cell of its own.

    Guests have NUMA cells if their flavor or image requests them, or requests pinned CPUs or pages:
    the extra specs ``hw:numa_nodes``, ``hw:numa_cpus.N``, ``hw:numa_mem.N``, ``hw:cpu_policy``,
    ``hw:cpu_dedicated_mask``, ``hw:cpu_thread_policy``, ``hw:emulator_threads_policy``,
    ``hw:mem_page_size``, and the image properties ``hw_numa_nodes`` and so on. All other requests
    pass on every host. Requests with NUMA cells pass on no host that does not report a topology.

    A host cell must have enough vCPUs, with pinned vCPUs on free dedicated CPUs that satisfy the
    thread policy; enough memory, in free pages of the requested size; and the devices of
    ``pci_passthrough:alias``, as near as ``hw:pci_numa_affinity_policy`` or the alias requires.
    Shared vCPUs and the memory of guests without pinned CPUs may exceed a cell by the host's
    allocation ratios, which the selected host enforces when it claims. A single guest cell never
    exceeds a host cell.

    Placement counts CPUs and memory of a whole host. Without this filter, a guest with NUMA cells
    can be placed where they do not fit, and the host then rejects the build. Devices that placement
    tracks must belong to the claimed candidate; candidates with other devices are rejected.
    """

    host_attributes = ("numa_topology", "pci_stats", *_RATIOS)

    is_host_local = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._readings = NumaTopologyCache()
        self._host_store = NumaFit(self._readings)

    def runs_once_for(self, spec: RequestSpec) -> bool:
        return spec.numa_topology is None

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        if spec.numa_topology is None:
            return True
        return self._fits(host_state, host_state.pci_stats, _Question(spec))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        if spec.numa_topology is None:
            return np.ones(len(hosts), dtype=np.bool_)
        question = _Question(spec)
        assert question.wanted is not None

        def fits(position: int) -> bool:
            return self._fits(hosts[position], hosts.value("pci_stats", position), question)

        return self._host_store.mask(hosts, question.wanted, question.requests, fits)

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        if spec.numa_topology is None or not spec.pci_requests:
            return True
        pools = offered(host_state.pci_stats, allocation_request)
        return pools is host_state.pci_stats or self._fits(host_state, pools, _Question(spec))

    def sets_limits_for(self, spec: RequestSpec) -> bool:
        return spec.numa_topology is not None

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, dict[str, float]]:
        if spec.numa_topology is None or self._readings.of(host_state.numa_topology) is None:
            return {}
        return {"numa_topology": _ratios(host_state)}

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        host, wanted = self._readings.of(host_state.numa_topology), wanted_topology(spec)
        if host is None:
            return "reports no NUMA topology"
        assert wanted is not None
        why = numa.why_not(
            host,
            wanted,
            limits=_ratios(host_state),
            pools=host_state.pci_stats,
            pci_requests=wanted_devices(spec),
        )
        return why or "the devices that placement offers do not satisfy the NUMA affinity policy"

    def _fits(self, host_state: HostState, pools: Sequence[pci.Pool], question: _Question) -> bool:
        host = self._readings.of(host_state.numa_topology)
        return question.ask(host, pools, _ratios(host_state))


class _Question:
    """A fit check for one request, evaluated once for all identical hosts."""

    def __init__(self, spec: RequestSpec) -> None:
        self.wanted = wanted_topology(spec)
        self.requests = wanted_devices(spec)
        self._answers: dict[Any, tuple[numa.HostTopology, bool]] = {}

    def ask(
        self, host: numa.HostTopology | None, pools: Sequence[pci.Pool], ratios: Mapping[str, float]
    ) -> bool:
        if host is None:
            return False
        same = (id(host), *ratios.values(), repr(pools) if self.requests else None)
        if same not in self._answers:
            assert self.wanted is not None
            answer = numa.fits(
                host, self.wanted, limits=ratios, pools=pools, pci_requests=self.requests
            )
            # Keep a reference to the topology, so that its id cannot be reused by another.
            self._answers[same] = (host, answer)
        return self._answers[same][1]


def _ratios(host_state: HostState) -> dict[str, float]:
    return {name: getattr(host_state, name) for name in _RATIOS}
