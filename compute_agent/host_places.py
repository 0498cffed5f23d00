"""The NUMA cells and PCI devices of a host, what its instances have of them, and what is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from compute_agent import pci_devices
from compute_agent.instance_place import InstancePlace, PlaceWanted
from compute_agent.journal import Entry, State
from compute_agent.pci_devices import PciDevice
from compute_agent.reserved_places import PlaceReserve, without_reserved
from compute_agent.virt.driver import ComputeDriver
from objects import pci, pci_claimed
from objects.numa import HostCell, HostTopology, consume, fit


class DoesNotFit(Exception):
    """A result, not a failure: what is left of a host is not what an instance needs."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostPlaces:
    """What is left on one host at one moment; ``topology`` is None for a host without cells."""

    topology: HostTopology | None
    devices: tuple[PciDevice, ...]
    """Those that are free."""
    packing: bool = False
    """Whether full cells are filled up first."""

    @classmethod
    def of(
        cls,
        driver: ComputeDriver,
        ratios: Mapping[str, float],
        entries: Iterable[Entry],
        *,
        packing: bool,
        reserve: PlaceReserve,
        devices: Iterable[PciDevice] | None = None,
    ) -> Self:
        """Return what a host has left besides these instances and what it keeps for itself.

        Those that were ordered and are not claimed yet are counted where they would be put now, so
        that schedulers do not give the same place away again. They come last: what is claimed is
        sure. ``ratios`` are by resource class. ``devices`` stand in the place of the driver's when
        they are to name their providers.
        """
        cells = without_reserved(driver.get_numa_cells(), reserve)
        topology = HostTopology(cells, ratios["VCPU"], ratios["MEMORY_MB"]) if cells else None
        offered = driver.get_pci_devices() if devices is None else devices
        places = cls(topology, tuple(offered), packing)
        expected = []
        for entry in entries:
            if entry.former_place is not None:
                places = places.without(entry.former_place)
            if entry.place is not None:
                places = places.without(entry.place)
            elif entry.state is State.BUILDING and entry.place_wanted is not None:
                expected.append(entry.place_wanted)
        for wanted in expected:
            places = places._expecting(wanted)
        return places

    @property
    def pools(self) -> list[dict[str, Any]]:
        """Return the free devices as schedulers see them."""
        return pci_devices.pools(self.devices)

    def without(self, place: InstancePlace) -> Self:
        """Return what is left beside one more instance."""
        topology = self.topology
        if topology is not None and place.numa_topology is not None:
            topology = consume(topology, place.numa_topology)
        taken = {device.address for device in place.pci_devices}
        left = tuple(pci_devices.free_devices(self.devices, taken))
        return dataclasses.replace(self, topology=topology, devices=left)

    def find(self, wanted: PlaceWanted, limits: Mapping[str, Any] | None = None) -> InstancePlace:
        """Return the place for an instance. Raises DoesNotFit with the reason.

        ``limits`` are the ratios that the scheduler decided by.
        """
        pools = self.pools
        cells = sockets = fitted = None
        if wanted.numa_topology is not None:
            if self.topology is None:
                raise DoesNotFit("the host has no NUMA cells, and the instance asks for some")
            fitted = fit(
                self.topology, wanted.numa_topology,
                limits=limits, pools=pools, pci_requests=wanted.pci_requests,
                packing=self.packing,
            )  # fmt: skip
            if fitted is None:
                raise DoesNotFit(_why_no_fit(self, wanted))
            cells, sockets = fitted.host_cells, self.topology.sockets
        taken = pci.assign(pools, wanted.pci_requests, cells, sockets)
        if taken is None:
            raise DoesNotFit(_why_no_devices(pools, wanted))
        chosen = self._devices(pools, taken)
        if chosen is None:
            raise DoesNotFit(_why_no_devices(pools, wanted))
        return InstancePlace(fitted, chosen)

    def _expecting(self, wanted: PlaceWanted) -> Self:
        try:
            return self.without(self.find(wanted))
        except DoesNotFit:  # it will be told so when it is its turn
            return self

    def _devices(
        self, pools: Sequence[Mapping[str, Any]], taken: Iterable[pci.Taken]
    ) -> tuple[PciDevice, ...] | None:
        """Return the devices in the order asked; None when there is no card beside its functions.

        Functions are chosen first, so that their card is not: it has many, and there are others.
        """
        order = list(enumerate(taken))
        order.sort(key=lambda item: pools[item[1].pool]["dev_type"] == pci.PHYSICAL_FUNCTION)
        chosen: dict[int, list[PciDevice]] = {}
        left: Sequence[PciDevice] = self.devices
        for number, each in order:
            alike = [device for device in left if _is_of(device, pools[each.pool])]
            if len(alike) < each.count:
                return None
            chosen[number] = [_for(device, each.request) for device in alike[: each.count]]
            gone = {device.address for device in chosen[number]}
            left = pci_devices.free_devices(left, gone)
        return tuple(device for number in sorted(chosen) for device in chosen[number])


def misplaced(driver: ComputeDriver, entries: Iterable[Entry]) -> list[str]:
    """Return instances that have CPUs or devices which the host does not give away any more.

    They keep them; somebody changed the configuration, or the machine, under them.
    """
    pcpus = frozenset[int]().union(*(cell.pcpus for cell in driver.get_numa_cells()))
    addresses = {device.address for device in driver.get_pci_devices()}
    found = []
    for entry in entries:
        if entry.place is None:
            continue
        topology = entry.place.numa_topology
        taken = [cell.cpus_taken for cell in topology.cells] if topology is not None else []
        has_cpus = frozenset[int]().union(*taken) <= pcpus
        if not has_cpus or {each.address for each in entry.place.pci_devices} - addresses:
            found.append(entry.instance_uuid)
    return found


def _for(device: PciDevice, request: pci.PciRequest) -> PciDevice:
    """Return a device as it is given away: it names its provider where the claim does."""
    if pci_claimed.names_providers(request.spec):
        return device
    return dataclasses.replace(device, rp_uuid=None)


def _is_of(device: PciDevice, pool: Mapping[str, Any]) -> bool:
    return all(pool[name] == value for name, value in device.kind.items())


def _why_no_fit(places: HostPlaces, wanted: PlaceWanted) -> str:
    assert wanted.numa_topology is not None
    assert places.topology is not None
    asked = "; ".join(
        f"{len(cell.vcpus)} shared and {len(cell.pinned_vcpus)} pinned vCPUs, {cell.memory_mb} MiB"
        + _in_pages(cell.page_size_kb)
        for cell in wanted.numa_topology.cells
    )
    near = " near its devices" if wanted.pci_requests else ""
    left = "; ".join(_what_is_left(cell) for cell in places.topology.cells)
    return f"its NUMA cells ({asked}) do not fit{near}; of the host's there is left: {left}"


def _in_pages(size: int | str | None) -> str:
    if size is None:
        return ""
    return f" in pages of {size} KiB" if isinstance(size, int) else f" in {size} pages"


def _what_is_left(cell: HostCell) -> str:
    parts = [
        f"{len(cell.cpus)} shared CPUs with {cell.cpus_used} vCPUs",
        f"{len(cell.free_pcpus)} dedicated CPUs",
        f"{cell.memory_mb - cell.memory_mb_used} MiB",
        *(f"{pool.free} pages of {pool.size_kb} KiB" for pool in cell.huge_pages),
    ]
    return f"cell {cell.id} {', '.join(parts)}"


def _why_no_devices(pools: Sequence[Mapping[str, Any]], wanted: PlaceWanted) -> str:
    asked = ", ".join(f"{each.count} {each.alias_name}" for each in wanted.pci_requests)
    return f"PCI devices asked: {asked}; not among the {pci.count_free(pools)} that are free"
