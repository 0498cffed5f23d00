"""Addition and removal of a fitted instance's usage on a host's cells."""

from __future__ import annotations

import dataclasses

from objects.numa.host import HostCell, HostTopology, PagePool
from objects.numa.instance import ISOLATE, InstanceCell, InstanceTopology
from objects.numa.memory import pages_of
from objects.numa.pinning import with_idle_siblings


def consume(host: HostTopology, fitted: InstanceTopology) -> HostTopology:
    """Return the host with a fitted instance added; cells that the host lacks are ignored."""
    return _changed(host, fitted, 1)


def release(host: HostTopology, fitted: InstanceTopology) -> HostTopology:
    """Return the host without an instance that was consumed."""
    return _changed(host, fitted, -1)


def _changed(host: HostTopology, fitted: InstanceTopology, sign: int) -> HostTopology:
    used: dict[int | None, list[InstanceCell]] = {}
    for cell in fitted.cells:
        used.setdefault(cell.host_cell, []).append(cell)
    cells = []
    for host_cell in host.cells:
        for cell in used.get(host_cell.id, ()):
            idles = fitted.thread_policy == ISOLATE
            host_cell = _changed_cell(host_cell, cell, sign, idles=idles)
        cells.append(host_cell)
    return dataclasses.replace(host, cells=tuple(cells))


def _changed_cell(host: HostCell, cell: InstanceCell, sign: int, *, idles: bool) -> HostCell:
    taken = cell.cpus_taken
    if idles:
        taken = with_idle_siblings(host, taken)
    return dataclasses.replace(
        host,
        cpus_used=max(host.cpus_used + sign * len(cell.vcpus), 0),
        pinned=host.pinned | taken if sign > 0 else host.pinned - taken,
        memory_mb_used=max(host.memory_mb_used + sign * cell.memory_mb, 0),
        pages=tuple(_changed_pool(pool, cell, sign) for pool in host.pages),
    )


def _changed_pool(pool: PagePool, cell: InstanceCell, sign: int) -> PagePool:
    if pool.size_kb != cell.page_size_kb:
        return pool
    pages = pages_of(cell.memory_mb, pool.size_kb)
    return dataclasses.replace(pool, used=max(pool.used + sign * pages, 0))
