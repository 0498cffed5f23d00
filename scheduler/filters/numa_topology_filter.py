"""Keep hosts whose NUMA cells have room for the guest's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from objects import numa, pci
from objects.allocation_candidates import AllocationRequest
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.cell_usage import offered, wanted_devices, wanted_topology
from scheduler.host_state import HostState
from scheduler.host_table import HostTable
from scheduler.numa_fleet import NumaFleet
from scheduler.numa_readings import NumaReadings

_RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio")


class NUMATopologyFilter(filters.BaseHostFilter):
    """Pass hosts on which each of the guest's NUMA cells fits into a NUMA cell of its own.

    Guests have cells when flavor or image ask for them, for pinned CPUs or for pages: the extra
    specs ``hw:numa_nodes``, ``hw:numa_cpus.N``, ``hw:numa_mem.N``, ``hw:cpu_policy``,
    ``hw:cpu_dedicated_mask``, ``hw:cpu_thread_policy``, ``hw:emulator_threads_policy``,
    ``hw:mem_page_size``, and the image properties ``hw_numa_nodes`` and so on. All other requests
    pass everywhere; those that ask pass no host that reports no topology.

    A cell has to have the vCPUs, pinned ones on free dedicated CPUs as the thread policy says, the
    memory, in free pages where pages are asked for, and the devices of ``pci_passthrough:alias`` as
    near as ``hw:pci_numa_affinity_policy`` or the alias says. Shared vCPUs and the memory of guests
    without pinned CPUs may exceed a cell by the host's allocation ratios, which the chosen host
    holds its claim to. No guest cell exceeds a host cell by itself.

    Trap: placement counts CPUs and memory of a whole host. Without this filter, a guest with cells
    lands where they do not fit and its host refuses it. Devices that placement counts itself must
    be of the candidate that is claimed; candidates where they are not are withdrawn.
    """

    host_attributes = ("numa_topology", "pci_stats", *_RATIOS)

    judges_apart = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._readings = NumaReadings()
        self._fleet = NumaFleet(self._readings)

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

        return self._fleet.mask(hosts, question.wanted, question.requests, fits)

    def candidate_passes(
        self, host_state: HostState, allocation_request: AllocationRequest, spec: RequestSpec
    ) -> bool:
        if spec.numa_topology is None or not spec.pci_requests:
            return True
        pools = offered(host_state.pci_stats, allocation_request)
        return pools is host_state.pci_stats or self._fits(host_state, pools, _Question(spec))

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
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
        return why or "the devices that placement offers are not near enough to the NUMA cells"

    def _fits(self, host_state: HostState, pools: Sequence[pci.Pool], question: _Question) -> bool:
        host = self._readings.of(host_state.numa_topology)
        return question.ask(host, pools, _ratios(host_state))


class _Question:
    """Whether a request fits: asked once of all hosts that are the same."""

    def __init__(self, spec: RequestSpec) -> None:
        self.wanted = wanted_topology(spec)
        self.requests = wanted_devices(spec)
        self._answers: dict[Any, tuple[numa.HostTopology, bool]] = {}

    def ask(
        self,
        host: numa.HostTopology | None,
        pools: Sequence[pci.Pool],
        ratios: Mapping[str, float],
    ) -> bool:
        if host is None:
            return False
        same = (id(host), *ratios.values(), repr(pools) if self.requests else None)
        if same not in self._answers:
            assert self.wanted is not None
            answer = numa.fits(
                host, self.wanted, limits=ratios, pools=pools, pci_requests=self.requests
            )
            # Equal topologies are one; it is kept, so that no other has its identity.
            self._answers[same] = (host, answer)
        return self._answers[same][1]


def _ratios(host_state: HostState) -> dict[str, float]:
    return {name: getattr(host_state, name) for name in _RATIOS}
