"""NUMA cells and PCI devices: what hosts report, and what the instances selected so far use."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from oslo_config import cfg

from armillary import exception
from objects import numa
from objects.allocations.allocation_candidates import AllocationRequest
from objects.numa import HostTopology
from objects.pci import pci
from objects.request_spec import RequestSpec

RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio")
"""Host attributes that limit overcommit in NUMA cells."""


class HostTopologyDict(dict[str, object]):
    """The wire form of a topology that carries the parsed topology, to avoid parsing it again."""

    __slots__ = ("topology",)

    def __init__(self, topology: numa.HostTopology) -> None:
        super().__init__(topology.to_plain())
        self.topology = topology


class Cells(NamedTuple):
    """The host attributes that describe free NUMA cells and devices."""

    numa_topology: Mapping[str, Any] | None
    pci_stats: Sequence[pci.Pool]


@dataclasses.dataclass(frozen=True, slots=True)
class CellDemand:
    """NUMA cells and devices that each instance of a request needs."""

    topology: numa.InstanceTopology | None
    requests: tuple[pci.PciRequest, ...]
    packing: bool = False

    @classmethod
    def of(cls, spec: RequestSpec, conf: cfg.ConfigOpts) -> Self | None:
        """Return the demand of a request; None if it has none, as most requests."""
        if spec.numa_topology is None and not spec.pci_requests:
            return None
        return cls(
            topology=wanted_topology(spec),
            requests=wanted_devices(spec),
            packing=conf.compute.packing_host_numa_cells_allocation_strategy,
        )

    def used_up(
        self, cells: Cells, limits: Mapping[str, float], allocations: AllocationRequest | None
    ) -> Cells:
        """Return the host's attributes with one more instance.

        They are unchanged if the instance does not fit; the host's agent will reject it.
        """
        pools = offered(cells.pci_stats, allocations)
        host = host_topology(cells.numa_topology)
        if self.topology is None or host is None:
            taken = pci.assign(pools, self.requests)
            left = None if taken is None else pci.without(cells.pci_stats, taken)
            return cells if left is None else cells._replace(pci_stats=left)
        fitted = numa.fit(
            host,
            self.topology,
            limits=limits,
            pools=pools,
            pci_requests=self.requests,
            packing=self.packing,
        )
        if fitted is None:
            return cells
        taken = pci.assign(pools, self.requests, fitted.host_cells, host.sockets)
        assert taken is not None  # the fit above implies it
        left = pci.without(cells.pci_stats, taken)
        return Cells(HostTopologyDict(numa.consume(host, fitted)), left)


class CellUsage:
    """NUMA and device usage of one decision's selected hosts, by position."""

    def __init__(self, demand: CellDemand) -> None:
        self._demand = demand
        self._reported: dict[int, tuple[Cells, Mapping[str, float]]] = {}
        self._placed: dict[int, list[tuple[str, AllocationRequest | None, Cells]]] = defaultdict(
            list
        )

    def add(
        self,
        position: int,
        instance_uuid: str,
        cells: Cells,
        *,
        limits: Mapping[str, float],
        allocations: AllocationRequest | None,
    ) -> Cells:
        """Return a host's attributes, currently ``cells``, with one more instance."""
        self._reported.setdefault(position, (cells, limits))
        after = self._demand.used_up(cells, limits, allocations)
        self._placed[position].append((instance_uuid, allocations, after))
        return after

    def remove(self, position: int, instance_uuid: str) -> Cells:
        """Return a host's attributes without one of its instances."""
        placed = self._placed[position]
        gone = next(index for index, each in enumerate(placed) if each[0] == instance_uuid)
        later = placed[gone + 1 :]
        del placed[gone:]
        reported, limits = self._reported[position]
        cells = placed[-1][2] if placed else reported
        for uuid, allocations, _ in later:  # these may move into the freed space
            cells = self._demand.used_up(cells, limits, allocations)
            placed.append((uuid, allocations, cells))
        return cells


def wanted_topology(spec: RequestSpec) -> numa.InstanceTopology | None:
    """Return the NUMA cells that a request needs. Raises ``InvalidNUMATopology``."""
    if spec.numa_topology is None:
        return None
    return numa.InstanceTopology.from_plain(spec.numa_topology)


def wanted_devices(spec: RequestSpec) -> tuple[pci.PciRequest, ...]:
    """Return the devices that a request needs."""
    return tuple(pci.PciRequest.from_plain(each) for each in spec.pci_requests)


def host_topology(plain: Mapping[str, Any] | None) -> numa.HostTopology | None:
    """Return the NUMA cells of a host; None if it reports none or an invalid topology."""
    if plain is None:
        return None
    if isinstance(plain, HostTopologyDict):
        return plain.topology
    try:
        return numa.HostTopology.from_plain(plain)
    except exception.InvalidNUMATopology:
        return None


def offered(pools: Sequence[pci.Pool], allocations: AllocationRequest | None) -> Sequence[pci.Pool]:
    """Return the pools available to an instance that would claim ``allocations``.

    If the claim allocates from the provider of a pool (``rp_uuid``), placement has chosen the
    devices: this pool is limited to what the claim allocates, and other such pools are empty.
    """
    if not allocations or not any(pool.get("rp_uuid") in allocations for pool in pools):
        return pools
    return [
        pool if pool.get("rp_uuid") is None else {**pool, "count": _claimed(pool, allocations)}
        for pool in pools
    ]


def _claimed(pool: pci.Pool, allocations: AllocationRequest) -> int:
    claimed = allocations.get(pool["rp_uuid"], {}).get("resources", {})
    return min(int(pool.get("count", 1)), sum(claimed.values()))


_REMEMBERED_MAX = 4096


class NumaTopologyCache:
    """Caches the topology parsed from a wire form, by object identity; equal forms share one.

    A report remains the same object until the host reports again, so only new reports are parsed.
    The cache is cleared when full. Thread-safe: at worst a report is parsed twice.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Mapping[str, Any], HostTopology | None]] = {}
        self._by_text: dict[str, HostTopology | None] = {}

    def of(self, plain: Mapping[str, Any] | None) -> HostTopology | None:
        """Return the topology of a host; None if it reports none."""
        if plain is None:
            return None
        if isinstance(plain, HostTopologyDict):  # created for this decision only
            return plain.topology
        known = self._by_identity.get(id(plain))
        if known is None:
            if len(self._by_identity) >= _REMEMBERED_MAX:
                self._by_identity, self._by_text = {}, {}
            text = repr(plain)
            if text not in self._by_text:
                self._by_text[text] = host_topology(plain)
            # Keep a reference to the wire form, so that its id cannot be reused by another.
            known = self._by_identity[id(plain)] = (plain, self._by_text[text])
        return known[1]
