"""CPU and memory pinning of a guest, in libvirt's terms."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Self
from xml.etree.ElementTree import Element, SubElement

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, format_cpus, parse_cpus


@dataclasses.dataclass(frozen=True, slots=True)
class Pins:
    """``vcpus``: vCPU -> allowed host CPUs; ``cells``: guest cell -> host cell.

    ``shared`` are the CPUs of a guest without a topology; None means any.
    """

    shared: frozenset[int] | None = None
    vcpus: Mapping[int, frozenset[int]] = dataclasses.field(default_factory=dict, hash=False)
    emulator: frozenset[int] = frozenset()
    cells: Mapping[int, int] = dataclasses.field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, place: InstancePlacement, cells: Iterable[HostCell], split: CpuSplit) -> Self:
        """Return the pins for a placement on a host."""
        topology = place.numa_topology
        if topology is None:
            return cls(shared=split.shared if split.is_configured and split.shared else None)
        host = {cell.id: cell for cell in cells}
        vcpus: dict[int, frozenset[int]] = {}
        emulator: set[int] = set()
        for cell in topology.cells:
            shared = _shared_cpus(host, cell.host_cell)
            vcpus |= {vcpu: shared for vcpu in cell.vcpus - cell.pinned_vcpus if shared}
            vcpus |= {vcpu: frozenset({cpu}) for vcpu, cpu in cell.pinning.items()}
            emulator |= cell.emulator_cpus
        everywhere = frozenset[int]().union(*vcpus.values())
        if topology.shares_emulator and split.is_configured and split.shared:
            everywhere = split.shared
        return cls(
            vcpus=vcpus,
            emulator=frozenset(emulator) or everywhere,
            cells={
                number: cell.host_cell
                for number, cell in enumerate(topology.cells)
                if cell.host_cell is not None
            },
        )

    def to_plain(self) -> dict[str, object]:
        return {
            "shared": None if self.shared is None else format_cpus(self.shared),
            "vcpus": {str(vcpu): format_cpus(cpus) for vcpu, cpus in sorted(self.vcpus.items())},
            "emulator": format_cpus(self.emulator) if self.emulator else "",
            "cells": {str(guest): host for guest, host in sorted(self.cells.items())},
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(
            shared=None if plain["shared"] is None else parse_cpus(plain["shared"]),
            vcpus={int(vcpu): parse_cpus(cpus) for vcpu, cpus in plain["vcpus"].items()},
            emulator=parse_cpus(plain["emulator"]) if plain["emulator"] else frozenset(),
            cells={int(guest): int(host) for guest, host in plain["cells"].items()},
        )

    def write(self, domain: Element) -> None:
        """Write the pins into a domain, replacing existing ones."""
        vcpu = domain.find("vcpu")
        assert vcpu is not None  # every domain has one
        vcpu.attrib.pop("cpuset", None)
        vcpu.attrib.pop("placement", None)
        if self.shared is not None:
            vcpu.set("cpuset", format_cpus(self.shared))
        for old in domain.findall("numatune"):
            domain.remove(old)
        tune = domain.find("cputune")  # with the flavor's quota, too
        if tune is not None:
            for old in [*tune.findall("vcpupin"), *tune.findall("emulatorpin")]:
                tune.remove(old)
            if not len(tune):
                domain.remove(tune)
                tune = None
        if self.vcpus:
            self._write_cputune(SubElement(domain, "cputune") if tune is None else tune)
        if self.cells:
            self._write_numatune(SubElement(domain, "numatune"))

    def _write_cputune(self, cputune: Element) -> None:
        for vcpu, cpus in sorted(self.vcpus.items()):
            SubElement(cputune, "vcpupin", {"vcpu": str(vcpu), "cpuset": format_cpus(cpus)})
        if self.emulator:
            SubElement(cputune, "emulatorpin", {"cpuset": format_cpus(self.emulator)})

    def _write_numatune(self, numatune: Element) -> None:
        nodes = format_cpus(frozenset(self.cells.values()))
        SubElement(numatune, "memory", {"mode": "strict", "nodeset": nodes})
        for guest, host in sorted(self.cells.items()):
            SubElement(
                numatune, "memnode", {"cellid": str(guest), "mode": "strict", "nodeset": str(host)}
            )


def _shared_cpus(host: Mapping[int, HostCell], cell: int | None) -> frozenset[int]:
    return host[cell].cpus if cell is not None and cell in host else frozenset()
