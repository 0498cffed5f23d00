"""NUMA cells of many hosts as arrays: test together which can serve a guest cell.

The result equals that of ``fitting.fit_cell``.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from objects.numa.fitting import emulator_cpus
from objects.numa.host import ORDINARY_PAGE_KB_MAX, HostCell, HostTopology, PagePool
from objects.numa.instance import ANY, ISOLATE, REQUIRE, SMALL, InstanceCell, InstanceTopology
from objects.numa.pinning import room

CELLS_MAX = 64
"""Maximum number of cells of a host; hosts with more are left to ``fits``."""

POOLS_MAX = 6
"""Maximum number of page sizes in a cell; hosts with more are left to ``fits``."""

_AMOUNT_MAX = 2**50
_KB_IN_MB = 1024
_NO_POOL = PagePool(0, 0)

Numbers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class CellFact(enum.IntEnum):
    """A number about a cell; memory is ordinary memory, in MiB."""

    EXISTS = 0
    CPUS = 1
    CPUS_USED = 2
    FREE_PCPUS = 3
    MEMORY_MB = 4
    MEMORY_MB_USED = 5
    IDLE_CORES = 6
    THREADED_PCPUS = 7
    """Free dedicated CPUs on cores that have several of them free."""


Facts = tuple[int, ...]

BASE: Facts = tuple(CellFact)[: CellFact.IDLE_CORES]
THREADS: Facts = (CellFact.IDLE_CORES, CellFact.THREADED_PCPUS)
PAGES: Facts = tuple(range(len(CellFact), len(CellFact) + 2 * POOLS_MAX))
"""Indexes of each page pool's size in KiB and its free pages, smallest size first."""


def is_countable(host: HostTopology) -> bool:
    """Return whether a host has few enough cells and page sizes for arrays."""
    return len(host.cells) <= CELLS_MAX and all(len(cell.pages) <= POOLS_MAX for cell in host.cells)


def facts_of(host: HostTopology, facts: Facts, width: int) -> list[list[int]]:
    """Return ``BASE``, ``THREADS`` or ``PAGES`` of a countable host, [fact][cell].

    The result has ``width`` cells; missing ones are zeros.
    """
    cells = [_bounded(_OF[facts](cell)) for cell in host.cells]
    cells += [[0] * len(facts)] * (width - len(cells))
    return [list(each) for each in zip(*cells, strict=True)]


def needed(instance: InstanceTopology) -> list[Facts]:
    """Return the facts that ``can_serve`` needs for a guest."""
    has_pages = any(cell.page_size_kb is not None for cell in instance.cells)
    has_threads = instance.thread_policy in (ISOLATE, REQUIRE)
    return [BASE, *([THREADS] if has_threads else ()), *([PAGES] if has_pages else ())]


def can_serve(
    facts: Mapping[int, Numbers],
    wanted: InstanceCell,
    instance: InstanceTopology,
    *,
    cpu_ratio: Numbers,
    ram_ratio: Numbers,
) -> Mask:
    """Return for [cell, host] whether a guest cell fits there, like ``fit_cell``.

    ``facts`` has [cell, host] for all facts that are ``needed``. The ratios, one per host, are
    not 0.
    """
    cpus, shared = facts[CellFact.CPUS], len(wanted.vcpus)
    serves: Mask = facts[CellFact.EXISTS] > 0
    if shared:
        limit = cpus * cpu_ratio
        serves &= (shared <= cpus) & (facts[CellFact.CPUS_USED] + shared <= limit)
    serves &= _has_room(facts, wanted, instance)
    return serves & _backs(facts, wanted, instance.has_pinned_cpus, ram_ratio)


def _base(cell: HostCell) -> list[int]:
    return [
        1,
        len(cell.cpus),
        cell.cpus_used,
        len(cell.pcpus - cell.pinned),
        cell.ordinary_memory_mb,
        cell.ordinary_memory_mb_used,
    ]


def _threads(cell: HostCell) -> list[int]:
    return [len(cell.idle_cores), room(cell, REQUIRE)]


def _pages(cell: HostCell) -> list[int]:
    pools = sorted(cell.pages, key=lambda pool: pool.size_kb)
    pools += [_NO_POOL] * (POOLS_MAX - len(pools))
    return [number for pool in pools for number in (pool.size_kb, pool.free)]


_OF = {BASE: _base, THREADS: _threads, PAGES: _pages}


def _bounded(numbers: list[int]) -> list[int]:
    if min(numbers) >= -_AMOUNT_MAX and max(numbers) <= _AMOUNT_MAX:
        return numbers
    return [max(min(number, _AMOUNT_MAX), -_AMOUNT_MAX) for number in numbers]


def _has_room(
    facts: Mapping[int, Numbers], wanted: InstanceCell, instance: InstanceTopology
) -> Mask | bool:
    pinned = len(wanted.pinned_vcpus)
    cpus = pinned + emulator_cpus(instance, wanted)
    if not cpus:
        return True
    if instance.thread_policy == ISOLATE:
        return facts[CellFact.IDLE_CORES] >= cpus
    has_room: Mask = facts[CellFact.FREE_PCPUS] >= cpus
    if instance.thread_policy == REQUIRE:
        has_room &= facts[CellFact.THREADED_PCPUS] >= pinned
    return has_room


def _backs(
    facts: Mapping[int, Numbers], wanted: InstanceCell, is_strict: bool, ratio: Numbers
) -> Mask:
    asked = min(wanted.memory_mb, 2 * _AMOUNT_MAX)
    total, used = facts[CellFact.MEMORY_MB], facts[CellFact.MEMORY_MB_USED]
    has_free: Mask = asked <= total - used
    if wanted.page_size_kb is not None:
        return _has_pages(facts, asked * _KB_IN_MB, wanted.page_size_kb, has_free)
    return has_free if is_strict else (asked <= total) & (used + asked <= total * ratio)


def _has_pages(
    facts: Mapping[int, Numbers], asked_kb: int, page_size: int | str, has_free: Mask
) -> Mask:
    """Return where some pool serves; ordinary pages only where memory ``has_free``."""
    found = np.zeros_like(has_free)
    for size, free in _pools(facts)[: 1 if page_size == SMALL else None]:
        divisor = np.maximum(size, 1)
        is_ordinary = size <= ORDINARY_PAGE_KB_MAX
        if isinstance(page_size, int):
            is_wanted = (size > 0) & (size == page_size)
        elif page_size == ANY:
            is_wanted = size > 0
        else:
            is_wanted = (size > 0) & (is_ordinary == (page_size == SMALL))
        fits = (asked_kb % divisor == 0) & (asked_kb // divisor <= free)
        found |= is_wanted & fits & (has_free | ~is_ordinary)
    return found


def _pools(facts: Mapping[int, Numbers]) -> Sequence[tuple[Numbers, Numbers]]:
    return [(facts[at], facts[at + 1]) for at in PAGES[::2]]
