"""Host topology: NUMA cells and PCI devices, their usage by instances, and what is free."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from compute_agent.host import pci_devices
from compute_agent.host.instance_topology import InstancePlacement, PlacementWanted
from compute_agent.host.pci_devices import PciDevice
from compute_agent.host.reserved import ReservedTopology, without_reserved
from compute_agent.journal.journal import Entry, State
from compute_agent.virt.driver import ComputeDriver
from objects.numa import HostCell, HostTopology, consume, fit
from objects.pci import pci, pci_claimed


class DoesNotFit(Exception):
    """An instance does not fit on what is free. A result, not an error."""


@dataclasses.dataclass(frozen=True, slots=True)
class FreeTopology:
    """Free resources of a host; ``topology`` is None for a host without NUMA cells."""

    topology: HostTopology | None
    devices: tuple[PciDevice, ...]
    """Free devices."""
    packing: bool = False
    """Whether to fill up cells that are already in use first."""
    offered: tuple[PciDevice, ...] = ()
    """All devices of the host, also those that are not free."""

    @classmethod
    def of(
        cls,
        driver: ComputeDriver,
        ratios: Mapping[str, float],
        entries: Iterable[Entry],
        *,
        packing: bool,
        reserve: ReservedTopology,
        devices: Iterable[PciDevice] | None = None,
    ) -> Self:
        """Return what is free on a host, given its instances and its reserved resources.

        Builds without a claim yet are counted where they would be placed now, so that schedulers do
        not assign the same resources again. They are counted last, because claims take precedence.
        ``ratios`` are by resource class. ``devices`` replaces the driver's devices if they need
        provider UUIDs.
        """
        cells = without_reserved(driver.get_numa_cells(), reserve)
        topology = HostTopology(cells, ratios["VCPU"], ratios["MEMORY_MB"]) if cells else None
        offered = driver.get_pci_devices() if devices is None else devices
        all_devices = tuple(offered)
        places = cls(topology, all_devices, packing, all_devices)
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
    def reserved_devices(self) -> list[PciDevice]:
        """Devices that are assigned, or excluded by one that is."""
        free = {device.address for device in self.devices}
        return [device for device in self.offered if device.address not in free]

    def without(self, place: InstancePlacement) -> Self:
        """Return what is free after one more instance."""
        topology = self.topology
        if topology is not None and place.numa_topology is not None:
            topology = consume(topology, place.numa_topology)
        taken = {device.address for device in place.pci_devices}
        left = tuple(pci_devices.free_devices(self.devices, taken))
        return dataclasses.replace(self, topology=topology, devices=left)

    def find(
        self, wanted: PlacementWanted, limits: Mapping[str, Any] | None = None
    ) -> InstancePlacement:
        """Return a placement for an instance. Raises DoesNotFit with the reason.

        ``limits`` are the allocation ratios that the scheduler used.
        """
        pools = pci_devices.pools(self.devices)
        cells = sockets = fitted = None
        if wanted.numa_topology is not None:
            if self.topology is None:
                raise DoesNotFit("the instance requests NUMA cells, but the host has none")
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
        return InstancePlacement(fitted, chosen)

    def _expecting(self, wanted: PlacementWanted) -> Self:
        try:
            return self.without(self.find(wanted))
        except DoesNotFit:  # reported when it claims
            return self

    def _devices(
        self, pools: Sequence[Mapping[str, Any]], taken: Iterable[pci.Taken]
    ) -> tuple[PciDevice, ...] | None:
        """Return the devices in the requested order; None if they do not suffice.

        Virtual functions are assigned first. A card with assigned functions cannot be assigned
        as a whole, but other cards may be free.
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
    """Return the instances that use CPUs or devices which the host no longer offers.

    They keep them; the configuration or the machine was changed while they ran.
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
    """Return a device as assigned: with its provider UUID only if the claim names providers."""
    if pci_claimed.names_providers(request.spec):
        return device
    return dataclasses.replace(device, rp_uuid=None)


def _is_of(device: PciDevice, pool: Mapping[str, Any]) -> bool:
    return all(pool[name] == value for name, value in device.kind.items())


def _why_no_fit(places: FreeTopology, wanted: PlacementWanted) -> str:
    assert wanted.numa_topology is not None
    assert places.topology is not None
    asked = "; ".join(
        f"{len(cell.vcpus)} shared and {len(cell.pinned_vcpus)} pinned vCPUs, {cell.memory_mb} MiB"
        + _in_pages(cell.page_size_kb)
        for cell in wanted.numa_topology.cells
    )
    near = " near its devices" if wanted.pci_requests else ""
    left = "; ".join(_what_is_left(cell) for cell in places.topology.cells)
    return f"its NUMA cells ({asked}) do not fit{near}; free on the host: {left}"


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


def _why_no_devices(pools: Sequence[Mapping[str, Any]], wanted: PlacementWanted) -> str:
    asked = ", ".join(f"{each.count} {each.alias_name}" for each in wanted.pci_requests)
    return f"PCI devices requested: {asked}; no match in the {pci.count_free(pools)} free devices"
