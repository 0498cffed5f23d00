"""Placement of an instance within a host: NUMA cells, CPUs and PCI devices."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Self

from compute_agent.host.pci_devices import PciDevice
from objects.numa import HostCell, InstanceTopology
from objects.pci.pci import PciRequest
from objects.request_spec import RequestSpec


@dataclasses.dataclass(frozen=True, slots=True)
class PlacementWanted:
    """The NUMA and PCI requirements of an instance; most have none."""

    numa_topology: InstanceTopology | None = None
    pci_requests: tuple[PciRequest, ...] = ()

    @classmethod
    def of(cls, spec: RequestSpec) -> Self:
        """Return the requirements of a request spec. Raises InvalidNUMATopology."""
        return cls.from_plain(
            {"numa_topology": spec.numa_topology, "pci_requests": spec.pci_requests}
        )

    @property
    def is_anywhere(self) -> bool:
        """Whether the instance may be placed anywhere on the host."""
        return self.numa_topology is None and not self.pci_requests

    def to_plain(self) -> dict[str, object]:
        return {
            "numa_topology": self.numa_topology and self.numa_topology.to_plain(),
            "pci_requests": [request.to_plain() for request in self.pci_requests],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(
            _topology(plain["numa_topology"]),
            tuple(PciRequest.from_plain(request) for request in plain["pci_requests"]),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class InstancePlacement:
    """An instance's topology fitted to the host, and its devices in the requested order."""

    numa_topology: InstanceTopology | None = None
    pci_devices: tuple[PciDevice, ...] = ()

    @property
    def is_anywhere(self) -> bool:
        """Whether the instance has no particular placement."""
        return self.numa_topology is None and not self.pci_devices

    def cpus(self, cells: Iterable[HostCell]) -> frozenset[int] | None:
        """Return the CPUs that the instance may use: its pinned ones and its cells' shared ones.

        None means that it has no topology and may use any shared CPU.
        """
        if self.numa_topology is None:
            return None
        shared = {cell.id: cell.cpus for cell in cells}
        cpus: set[int] = set()
        for cell in self.numa_topology.cells:
            cpus |= cell.cpus_taken
            if cell.vcpus and cell.host_cell is not None:
                cpus |= shared.get(cell.host_cell, frozenset())
        return frozenset(cpus)

    def to_plain(self) -> dict[str, object]:
        return {
            "numa_topology": self.numa_topology and self.numa_topology.to_plain(),
            "pci_devices": [device.to_plain() for device in self.pci_devices],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(
            _topology(plain["numa_topology"]),
            tuple(PciDevice.from_plain(device) for device in plain["pci_devices"]),
        )


ANYWHERE = InstancePlacement()


def _topology(plain: Mapping[str, Any] | None) -> InstanceTopology | None:
    return None if plain is None else InstanceTopology.from_plain(plain)
