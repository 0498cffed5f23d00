"""NUMA cells of a host: CPUs, memory and pages, with their usage."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from armillary import exception

ORDINARY_PAGE_KB_MAX = 64
"""Largest ordinary page: kernels use 4, 16 or 64 KiB; larger pages are huge pages."""

_KB_IN_MB = 1024


@dataclass(frozen=True, slots=True)
class PagePool:
    """Memory pages of one size in a cell; pages reserved for the host count as used."""

    size_kb: int
    total: int
    used: int = 0

    @property
    def free(self) -> int:
        """Number of unused pages."""
        return self.total - self.used

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form. Raises ``ValueError`` for a size below 1."""
        size_kb = int(plain["size_kb"])
        if size_kb < 1:
            raise ValueError(f"pages of {size_kb} KiB")
        return cls(size_kb, int(plain["total"]), int(plain.get("used") or 0))


@dataclass(frozen=True)
class HostCell:
    """A NUMA cell: ``cpus`` are shared by many vCPUs, each of ``pcpus`` is dedicated to one.

    ``cpus_used`` counts shared vCPUs. ``pinned`` holds the dedicated CPUs in use, including those
    that an instance with the thread policy ``isolate`` keeps idle. ``siblings`` are the threads of
    each core; a CPU in none of them is a core by itself. ``memory_mb`` and ``memory_mb_used``
    include huge pages.
    """

    id: int
    socket: int | None = None
    cpus: frozenset[int] = frozenset()
    pcpus: frozenset[int] = frozenset()
    cpus_used: int = 0
    pinned: frozenset[int] = frozenset()
    siblings: tuple[frozenset[int], ...] = ()
    memory_mb: int = 0
    memory_mb_used: int = 0
    pages: tuple[PagePool, ...] = ()

    # Derived values are cached: a cell is used by many requests.

    @functools.cached_property
    def free_pcpus(self) -> frozenset[int]:
        """The unused dedicated CPUs."""
        return self.pcpus - self.pinned

    @functools.cached_property
    def free_cores(self) -> tuple[frozenset[int], ...]:
        """The unused dedicated CPUs, grouped by core."""
        free = self.free_pcpus
        return tuple(core & free for core in self._cores if not core.isdisjoint(free))

    @functools.cached_property
    def idle_cores(self) -> tuple[frozenset[int], ...]:
        """The dedicated CPUs of cores that run neither pinned nor shared vCPUs."""
        busy = self.pinned | (self.cpus - self.pcpus)
        return tuple(core & self.pcpus for core in self._cores if core.isdisjoint(busy))

    @functools.cached_property
    def _cores(self) -> list[frozenset[int]]:
        """All threads of the cores that have dedicated CPUs."""
        in_cores = frozenset[int]().union(*self.siblings)
        cores = [core for core in self.siblings if not core.isdisjoint(self.pcpus)]
        cores += [frozenset((cpu,)) for cpu in self.pcpus - in_cores]
        return sorted(cores, key=min)

    @functools.cached_property
    def huge_pages(self) -> tuple[PagePool, ...]:
        """The pools of huge pages, largest first."""
        huge = (pool for pool in self.pages if pool.size_kb > ORDINARY_PAGE_KB_MAX)
        return tuple(sorted(huge, key=lambda pool: -pool.size_kb))

    @functools.cached_property
    def ordinary_memory_mb(self) -> int:
        """Memory in MiB that is not reserved as huge pages."""
        return self.memory_mb - sum(pool.total * pool.size_kb for pool in self.huge_pages) // (
            _KB_IN_MB
        )

    @functools.cached_property
    def ordinary_memory_mb_used(self) -> int:
        """Used ordinary memory in MiB."""
        huge = sum(pool.used * pool.size_kb for pool in self.huge_pages) // _KB_IN_MB
        return max(self.memory_mb_used - huge, 0)

    def pool(self, size_kb: int) -> PagePool | None:
        """Return the pages of one size, or None if the cell has none."""
        return next((pool for pool in self.pages if pool.size_kb == size_kb), None)

    def to_plain(self) -> dict[str, object]:
        """Return the wire form."""
        return {
            "id": self.id,
            "socket": self.socket,
            "cpus": sorted(self.cpus),
            "pcpus": sorted(self.pcpus),
            "cpus_used": self.cpus_used,
            "pinned": sorted(self.pinned),
            "siblings": [sorted(core) for core in self.siblings],
            "memory_mb": self.memory_mb,
            "memory_mb_used": self.memory_mb_used,
            "pages": [
                {"size_kb": pool.size_kb, "total": pool.total, "used": pool.used}
                for pool in self.pages
            ],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form; only ``id`` is required."""
        socket = plain.get("socket")
        return cls(
            id=int(plain["id"]),
            socket=None if socket is None else int(socket),
            cpus=frozenset(map(int, plain.get("cpus") or ())),
            pcpus=frozenset(map(int, plain.get("pcpus") or ())),
            cpus_used=int(plain.get("cpus_used") or 0),
            pinned=frozenset(map(int, plain.get("pinned") or ())),
            siblings=_siblings(tuple(map(tuple, plain.get("siblings") or ()))),
            memory_mb=int(plain.get("memory_mb") or 0),
            memory_mb_used=int(plain.get("memory_mb_used") or 0),
            pages=tuple(PagePool.from_plain(pool) for pool in plain.get("pages") or ()),
        )


@functools.lru_cache(maxsize=1024)
def _siblings(cores: tuple[tuple[Any, ...], ...]) -> tuple[frozenset[int], ...]:
    """Return the threads of each core, cached: hosts of one model share them."""
    return tuple(frozenset(map(int, core)) for core in cores)


@dataclass(frozen=True, slots=True)
class HostTopology:
    """The cells of a host, with overcommit ratios of shared vCPUs and unpinned memory."""

    cells: tuple[HostCell, ...]
    cpu_allocation_ratio: float = 1.0
    ram_allocation_ratio: float = 1.0

    @property
    def sockets(self) -> dict[int, int | None]:
        """Cell id -> socket."""
        return {cell.id: cell.socket for cell in self.cells}

    def to_plain(self) -> dict[str, Any]:
        """Return the wire form, made of JSON values."""
        return {
            "cells": [cell.to_plain() for cell in self.cells],
            "cpu_allocation_ratio": self.cpu_allocation_ratio,
            "ram_allocation_ratio": self.ram_allocation_ratio,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form. Raises ``InvalidNUMATopology`` if it is malformed."""
        try:
            return cls(
                cells=tuple(HostCell.from_plain(cell) for cell in plain["cells"]),
                cpu_allocation_ratio=float(plain.get("cpu_allocation_ratio") or 1.0),
                ram_allocation_ratio=float(plain.get("ram_allocation_ratio") or 1.0),
            )
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise exception.InvalidNUMATopology(
                key="numa_topology",
                source="a host",
                found=repr(plain)[:200],
                allowed=f"the wire form of its cells ({type(error).__name__}: {error})",
            ) from error
