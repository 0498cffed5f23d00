"""Fitting of a guest cell's memory into a host cell, and the page size to use."""

from dataclasses import dataclass

from objects.numa.host import ORDINARY_PAGE_KB_MAX, HostCell, PagePool
from objects.numa.instance import LARGE, SMALL, InstanceCell

_KB_IN_MB = 1024


@dataclass(frozen=True, slots=True)
class Backing:
    """Page size of a guest cell's memory; None: ordinary memory, not counted in pages."""

    page_size_kb: int | None


def back(cell: HostCell, wanted: InstanceCell, *, is_strict: bool, ratio: float) -> Backing | None:
    """Return how a host cell backs a guest cell's memory, or None if it cannot.

    Huge pages, and with ``is_strict`` all memory, must be free. Other memory may be overcommitted
    by ``ratio``, but a guest cell must never be larger than its host cell.
    """
    if wanted.page_size_kb is not None:
        return next(
            (
                Backing(pool.size_kb)
                for pool in _pools(cell, wanted.page_size_kb)
                if _has_free(cell, pool, wanted.memory_mb)
            ),
            None,
        )
    total, used = cell.ordinary_memory_mb, cell.ordinary_memory_mb_used
    if is_strict:
        return Backing(None) if wanted.memory_mb <= total - used else None
    fits = wanted.memory_mb <= total and used + wanted.memory_mb <= total * ratio
    return Backing(None) if fits else None


def free_memory_mb(cell: HostCell) -> int:
    """Return the unused memory of a cell in MiB."""
    return cell.memory_mb - cell.memory_mb_used


def free_mb(cell: HostCell, wanted: InstanceCell, *, is_strict: bool, ratio: float) -> int:
    """Return the MiB that a cell has free in the page size of a guest cell."""
    if wanted.page_size_kb is not None:
        pools = _pools(cell, wanted.page_size_kb)
        return max((pool.free * pool.size_kb // _KB_IN_MB for pool in pools), default=0)
    total, used = cell.ordinary_memory_mb, cell.ordinary_memory_mb_used
    free = total - used if is_strict else min(total, int(total * ratio) - used)
    return max(free, 0)


def pages_of(memory_mb: int, size_kb: int) -> int:
    """Return the number of pages in an amount of memory."""
    return memory_mb * _KB_IN_MB // size_kb


def _pools(cell: HostCell, wanted: int | str) -> tuple[PagePool, ...]:
    """Return the pools that may serve, best first."""
    if isinstance(wanted, int):
        return tuple(pool for pool in cell.pages if pool.size_kb == wanted)
    ordinary = tuple(
        sorted(
            (pool for pool in cell.pages if pool.size_kb <= ORDINARY_PAGE_KB_MAX),
            key=lambda pool: pool.size_kb,
        )
    )
    if wanted == SMALL:
        return ordinary[:1]
    return cell.huge_pages if wanted == LARGE else (*cell.huge_pages, *ordinary)


def _has_free(cell: HostCell, pool: PagePool, memory_mb: int) -> bool:
    if memory_mb * _KB_IN_MB % pool.size_kb:
        return False
    if pool.size_kb <= ORDINARY_PAGE_KB_MAX:
        free_mb = cell.ordinary_memory_mb - cell.ordinary_memory_mb_used
        if memory_mb > free_mb:
            return False
    return pages_of(memory_mb, pool.size_kb) <= pool.free
