"""NUMA topology of a server: its cells, and what they have of their host."""

from __future__ import annotations

from dataclasses import dataclass, field

from objects.numa import InstanceTopology


@dataclass(frozen=True, slots=True)
class TopologyCell:
    """A cell of the guest; ``pinning`` maps vCPUs to CPUs of the host."""

    vcpus: list[int]
    memory_mb: int
    host_cell: int | None = None
    pinning: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerTopology:
    """Cells of a server, none for one without a topology, and the size of its memory pages."""

    cells: list[TopologyCell] = field(default_factory=list)
    page_size_kb: int | None = None

    @classmethod
    def of(cls, topology: InstanceTopology | None) -> ServerTopology:
        """Return what a topology that was fitted to a host tells."""
        if topology is None:
            return cls()
        sizes = [cell.page_size_kb for cell in topology.cells if isinstance(cell.page_size_kb, int)]
        cells = [
            TopologyCell(
                vcpus=sorted(cell.vcpus | cell.pinned_vcpus),
                memory_mb=cell.memory_mb,
                host_cell=cell.host_cell,
                pinning={str(vcpu): cpu for vcpu, cpu in sorted(cell.pinning.items())},
            )
            for cell in topology.cells
        ]
        return cls(cells, sizes[0] if sizes else None)
