"""NUMA topology of simulated hosts: a shape's resources, evenly split."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from objects.numa import HostCell, HostTopology
from simulator.scenario.scenario import Amount, HostShape

_NOTHING = Amount(0)


def topology_of(shape: HostShape) -> HostTopology | None:
    """Return the topology of an empty host of a shape, None if it has none.

    Shared CPUs come first, then dedicated ones; reserved memory counts as used.
    """
    count = shape.numa_cells
    if not count:
        return None
    vcpus, pcpus, memory = (
        shape.amounts.get(name, _NOTHING) for name in ("VCPU", "PCPU", "MEMORY_MB")
    )
    cpus = itertools.count()
    shared = [_taken(cpus, part) for part in _parts(vcpus.total, count)]
    dedicated = [_taken(cpus, part) for part in _parts(pcpus.total, count)]
    sizes, kept = list(_parts(memory.total, count)), list(_parts(memory.reserved, count))
    return HostTopology(
        cells=tuple(
            HostCell(
                id=number,
                socket=number,
                cpus=shared[number],
                pcpus=dedicated[number],
                memory_mb=sizes[number],
                memory_mb_used=kept[number],
            )
            for number in range(count)
        ),
        cpu_allocation_ratio=vcpus.ratio,
        ram_allocation_ratio=memory.ratio,
    )


def _parts(total: int, count: int) -> Iterator[int]:
    """Yield ``count`` nearly equal parts; the first ones get the remainder."""
    part, rest = divmod(total, count)
    for number in range(count):
        yield part + (number < rest)


def _taken(cpus: Iterator[int], count: int) -> frozenset[int]:
    return frozenset(itertools.islice(cpus, count))
