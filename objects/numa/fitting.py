"""Fitting of a guest's NUMA cells to a host's: cells, CPUs and pages; usage of what is fitted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from objects.numa.host import HostCell, HostTopology, PagePool
from objects.numa.instance import ISOLATE, InstanceCell, InstanceTopology
from objects.numa.memory import Backing, back, free_memory_mb, pages_of
from objects.numa.pinning import has_room, pin, with_idle_siblings
from objects.pci import pci

CHOICES_MAX = 1_000
"""Maximum number of host cell choices tried when devices restrict them; then it does not fit."""

_Placed = tuple[int, ...]  # index of the host cell of each guest cell


@dataclasses.dataclass(frozen=True, slots=True)
class Ratios:
    """Overcommit ratios of shared vCPUs and unpinned memory in a cell."""

    cpu: float
    ram: float

    @classmethod
    def of(cls, host: HostTopology, limits: Mapping[str, float] | None) -> Ratios:
        """Return the scheduler's limits, with the host's own ratios as defaults."""
        given = limits or {}
        return cls(
            cpu=float(given.get("cpu_allocation_ratio") or host.cpu_allocation_ratio),
            ram=float(given.get("ram_allocation_ratio") or host.ram_allocation_ratio),
        )


def fit(
    host: HostTopology,
    instance: InstanceTopology,
    *,
    limits: Mapping[str, float] | None = None,
    pools: Sequence[pci.Pool] | None = None,
    pci_requests: Sequence[pci.PciRequest] = (),
    packing: bool = False,
) -> InstanceTopology | None:
    """Return a copy of the instance's topology with its host cells, or None if it does not fit.

    Each guest cell gets a host cell of its own, the emptiest first, or with ``packing`` the
    fullest. Cells with devices come last, or first if devices are requested. ``limits`` may have
    ``cpu_allocation_ratio`` and ``ram_allocation_ratio``, which override the host's. No argument is
    modified.
    """
    way = _find_placement(host, instance, limits, list(pools or ()), pci_requests, packing=packing)
    if way is None:
        return None
    return dataclasses.replace(
        instance,
        cells=tuple(
            _fitted(wanted, cell, backing, instance)
            for wanted, (cell, backing) in zip(instance.cells, way, strict=True)
        ),
    )


def fits(
    host: HostTopology,
    instance: InstanceTopology,
    *,
    limits: Mapping[str, float] | None = None,
    pools: Sequence[pci.Pool] | None = None,
    pci_requests: Sequence[pci.PciRequest] = (),
) -> bool:
    """Return whether ``fit`` would succeed."""
    way = _find_placement(host, instance, limits, list(pools or ()), pci_requests, packing=False)
    return way is not None


def fit_cell(
    cell: HostCell, wanted: InstanceCell, instance: InstanceTopology, ratios: Ratios
) -> Backing | None:
    """Return how a host cell backs a guest cell's memory, or None if it does not fit there."""
    if not has_shared_cpus(cell, len(wanted.vcpus), ratios.cpu):
        return None
    emulator = emulator_cpus(instance, wanted)
    if not has_room(cell, len(wanted.pinned_vcpus), emulator, instance.thread_policy):
        return None
    return back(cell, wanted, is_strict=instance.has_pinned_cpus, ratio=ratios.ram)


def has_shared_cpus(cell: HostCell, vcpus: int, ratio: float) -> bool:
    """Return whether a cell has room for this many more shared vCPUs."""
    if not vcpus:
        return True
    return vcpus <= len(cell.cpus) and cell.cpus_used + vcpus <= len(cell.cpus) * ratio


def demand_key(wanted: InstanceCell, instance: InstanceTopology) -> tuple[Any, ...]:
    """Return a key that is equal for guest cells that fit the same host cells."""
    return (
        len(wanted.vcpus), len(wanted.pinned_vcpus), wanted.memory_mb, wanted.page_size_kb,
        emulator_cpus(instance, wanted),
    )  # fmt: skip


def is_search_exhaustive(guest_cells: int, kinds: int) -> bool:
    """Return whether ``fits`` certainly tries all choices, given the number of host cell kinds.

    Then a host's result does not depend on the order of its cells.
    """
    return sum(math.comb(kinds + n - 1, n) for n in range(1, guest_cells + 1)) < CHOICES_MAX


def emulator_cpus(instance: InstanceTopology, cell: InstanceCell) -> int:
    """Return the number of dedicated CPUs a guest cell needs for emulator threads."""
    return int(instance.isolates_emulator and cell is instance.cells[0])


def _in_order(
    host: HostTopology, pools: list[pci.Pool], requests: Sequence[pci.PciRequest], *, packing: bool
) -> list[HostCell]:
    """Return the host's cells in the order in which to use them."""
    of_use = [
        pool
        for pool in pools
        if not requests or any(pci.matches(pool, request) for request in requests)
    ]
    near = {pool.get("numa_node") for pool in of_use}
    sign = 1 if packing else -1

    def order(cell: HostCell) -> tuple[Any, ...]:
        used = cell.cpus_used + len(cell.pinned)
        return (cell.id in near) != bool(requests), sign * free_memory_mb(cell), -sign * used

    return sorted(host.cells, key=order)


def _fitted(
    wanted: InstanceCell, cell: HostCell, backing: Backing, instance: InstanceTopology
) -> InstanceCell:
    vcpus = sorted(wanted.pinned_vcpus)
    emulator = emulator_cpus(instance, wanted)
    pinned = pin(cell, len(vcpus), emulator, instance.thread_policy)
    assert pinned is not None  # otherwise the cell would not have been chosen
    return dataclasses.replace(
        wanted,
        page_size_kb=backing.page_size_kb,
        host_cell=cell.id,
        pinning=dict(zip(vcpus, pinned.cpus, strict=True)),
        emulator_cpus=pinned.emulator_cpus,
    )


# Choice of host cells -----------------------------------------------------------------------------


def _find_placement(
    host: HostTopology,
    instance: InstanceTopology,
    limits: Mapping[str, float] | None,
    pools: list[pci.Pool],
    requests: Sequence[pci.PciRequest],
    *,
    packing: bool,
) -> list[tuple[HostCell, Backing]] | None:
    """Return for each guest cell its host cell, and how that backs its memory."""
    if len(instance.cells) > len(host.cells):
        return None
    cells = _in_order(host, pools, requests, packing=packing)
    rows = _rows(cells, instance, Ratios.of(host, limits))
    if not all(any(row) for row in rows):
        return None
    placed = _place(host, cells, rows, pools, requests)
    if placed is None:
        return None
    way = []
    for row, index in zip(rows, placed, strict=True):
        backing = row[index]
        assert backing is not None
        way.append((cells[index], backing))
    return way


def _rows(
    cells: Sequence[HostCell], instance: InstanceTopology, ratios: Ratios
) -> list[list[Backing | None]]:
    """Return for each guest cell the backing by each host cell; equal cells share a row."""
    known: dict[tuple[Any, ...], list[Backing | None]] = {}
    rows = []
    for wanted in instance.cells:
        demand = demand_key(wanted, instance)
        if demand not in known:
            known[demand] = [fit_cell(cell, wanted, instance, ratios) for cell in cells]
        rows.append(known[demand])
    return rows


def _place(
    host: HostTopology,
    cells: Sequence[HostCell],
    rows: Sequence[Sequence[Backing | None]],
    pools: list[pci.Pool],
    requests: Sequence[pci.PciRequest],
) -> _Placed | None:
    if not requests and len(rows) == 1:
        return (next(index for index, each in enumerate(rows[0]) if each is not None),)
    can_serve = [[each is not None for each in column] for column in zip(*rows, strict=True)]
    if not requests:
        return _Search([tuple(each) for each in can_serve], can_serve, _anywhere).run()
    sockets = host.sockets
    if pci.assign(pools, requests, sockets.keys(), sockets) is None:
        return None
    kinds = [
        (tuple(serves), _devices_at(cell, pools, requests))
        for serves, cell in zip(can_serve, cells, strict=True)
    ]
    prefers = any(request.numa_policy == pci.PREFERRED for request in requests)
    for is_strict in (True, False) if prefers else (False,):

        def has_devices(placed: _Placed, is_strict: bool = is_strict) -> bool:
            ids = {cells[index].id for index in placed}
            taken = pci.assign(pools, requests, ids, sockets, is_strict=is_strict)
            return taken is not None

        placed = _Search(kinds, can_serve, has_devices).run()
        if placed is not None:
            return placed
    return None


def _anywhere(placed: _Placed) -> bool:
    return True


def _devices_at(
    cell: HostCell, pools: Sequence[pci.Pool], requests: Sequence[pci.PciRequest]
) -> tuple[Any, ...]:
    """Return a key of a cell's devices that distinguishes it for these requests."""
    near = [
        (tuple(pci.matches(pool, request) for request in requests), int(pool.get("count", 1)))
        for pool in pools
        if pool.get("numa_node") == cell.id
    ]
    by_socket = any(request.numa_policy == pci.SOCKET for request in requests)
    return (tuple(sorted(near)), cell.socket if by_socket else None)


class _Search:
    """Backtracking search that gives each guest cell a host cell of its own, in order.

    Host cells of one kind are equivalent, so a combination of kinds that failed is not tried again.
    """

    def __init__(
        self,
        kinds: Sequence[Any],
        can_serve: Sequence[Sequence[bool]],
        is_good: Callable[[_Placed], bool],
    ) -> None:
        numbers: dict[Any, int] = {}
        self._kinds = [numbers.setdefault(kind, len(numbers)) for kind in kinds]
        self._can_serve = can_serve  # [host cell][guest cell]
        self._is_good = is_good
        self._failed: set[tuple[int, ...]] = set()

    def run(self) -> _Placed | None:
        """Return the index of a host cell for each guest cell, or None."""
        return self._extend(())

    def _extend(self, placed: _Placed) -> _Placed | None:
        if len(placed) == len(self._can_serve[0]):
            return placed if self._is_good(placed) else None
        for index, serves in enumerate(self._can_serve):
            if index in placed or not serves[len(placed)]:
                continue
            longer = (*placed, index)
            state = tuple(sorted(self._kinds[each] for each in longer))
            if state in self._failed:
                continue
            found = self._extend(longer)
            if found is not None or len(self._failed) >= CHOICES_MAX:
                return found
            self._failed.add(state)
        return None


# Usage of a host's cells by fitted instances ----------------------------------------------------


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
