"""Resources that each host reserves for itself: amounts, huge pages and memory of NUMA cells."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Self

from oslo_config import cfg

from armillary import exception
from objects import page_sizes
from objects.numa import HostCell, PagePool

NUMBER_MAX = 2**31 - 1
_KIB_PER_MIB = 1024
_KEYS = ("node", "size", "count")


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedPages:
    """Number of reserved pages of a size, in KiB, in a NUMA cell."""

    cell_id: int
    size_kb: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedTopology:
    """Reserved NUMA resources: pages of some cells, and total memory in MiB."""

    pages: tuple[ReservedPages, ...] = ()
    memory_mb: int = 0

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> Self:
        """Return the configured reserve. Raises ConfigurationError."""
        return cls(parse_pages(conf.reserved_huge_pages), conf.reserved_host_memory_mb)


def parse_pages(texts: Iterable[str]) -> tuple[ReservedPages, ...]:
    """Return the parsed ``reserved_huge_pages``. Raises ConfigurationError with the text."""
    found = tuple(_parse(text) for text in texts)
    places = [(each.cell_id, each.size_kb) for each in found]
    for each in found:
        if places.count((each.cell_id, each.size_kb)) > 1:
            raise exception.ConfigurationError(
                reason=f"reserved_huge_pages: pages of {each.size_kb} KiB in cell {each.cell_id} "
                "are listed twice"
            )
    return found


def check_pages(conf: cfg.ConfigOpts, host: str, cells: Sequence[HostCell]) -> None:
    """Raise ConfigurationError unless a host has the pages to reserve."""
    by_id = {cell.id: cell for cell in cells}
    for each in parse_pages(conf.reserved_huge_pages):
        cell = by_id.get(each.cell_id)
        pool = None if cell is None else cell.pool(each.size_kb)
        if pool is None or pool.total < each.count:
            there = 0 if pool is None else pool.total
            raise exception.ConfigurationError(
                reason=f"reserved_huge_pages: cannot reserve {each.count} pages of {each.size_kb} "
                f"KiB in cell {each.cell_id} of host {host}, which has {there}"
            )


def without_reserved(cells: Sequence[HostCell], reserve: ReservedTopology) -> tuple[HostCell, ...]:
    """Return the cells without reserved resources.

    Reserved huge pages are part of the reserved memory; the rest is ordinary memory, from the first
    cells first. It is subtracted from a cell's total, so that it is not overcommitted, as in
    placement; pages count as used.
    """
    left = reserve.memory_mb
    kept: list[HostCell] = []
    for cell in cells:
        here = {each.size_kb: each.count for each in reserve.pages if each.cell_id == cell.id}
        kept.append(_with_pages_used(cell, here))
        left -= kept[-1].memory_mb_used - cell.memory_mb_used
    for number, cell in enumerate(kept):
        taken = min(max(left, 0), cell.ordinary_memory_mb)
        kept[number] = _with_less_memory(cell, taken)
        left -= taken
    return tuple(kept)


def _with_pages_used(cell: HostCell, counts: dict[int, int]) -> HostCell:
    if not counts:
        return cell
    pools = tuple(_with_used(pool, counts.get(pool.size_kb, 0)) for pool in cell.pages)
    kib = sum(
        (after.used - before.used) * before.size_kb
        for before, after in zip(cell.pages, pools, strict=True)
    )
    return dataclasses.replace(
        cell, pages=pools, memory_mb_used=cell.memory_mb_used + kib // _KIB_PER_MIB
    )


def _with_used(pool: PagePool, count: int) -> PagePool:
    return dataclasses.replace(pool, used=min(pool.used + count, pool.total))


def _with_less_memory(cell: HostCell, memory_mb: int) -> HostCell:
    """Reduce a cell's memory and the matching number of ordinary pages."""
    if memory_mb <= 0:
        return cell
    huge = set(cell.huge_pages)
    ordinary = sorted(
        (pool for pool in cell.pages if pool not in huge), key=lambda pool: pool.size_kb
    )
    left_kib = memory_mb * _KIB_PER_MIB
    fewer = {}
    for pool in ordinary:
        gone = min(left_kib // pool.size_kb, pool.total)
        fewer[pool.size_kb] = dataclasses.replace(pool, total=pool.total - gone)
        left_kib -= gone * pool.size_kb
    return dataclasses.replace(
        cell,
        memory_mb=cell.memory_mb - memory_mb,
        pages=tuple(fewer.get(pool.size_kb, pool) for pool in cell.pages),
    )


def _parse(text: str) -> ReservedPages:
    given: dict[str, str] = {}
    for part in text.split(","):
        key, _, value = part.partition(":")
        given[key.strip()] = value.strip()
    if sorted(given) != sorted(_KEYS) or len(text.split(",")) != len(_KEYS):
        raise _wrong(text, "it must contain each of node, size and count once")
    size_kb = page_sizes.parse_kb(given["size"])
    if size_kb is None:
        raise _wrong(text, f"size must be {page_sizes.RULE}")
    return ReservedPages(
        cell_id=_whole(text, given, "node"), size_kb=size_kb, count=_whole(text, given, "count")
    )


def _whole(text: str, given: dict[str, str], key: str) -> int:
    value = given[key]
    if not value.isascii() or not value.isdigit() or int(value) > NUMBER_MAX:
        raise _wrong(text, f"{key} must be an integer up to {NUMBER_MAX}")
    return int(value)


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"reserved_huge_pages '{text[:200]}': {why}; expected for example "
        "node:0,size:2048,count:64"
    )


MIB_PER_GIB = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedAmounts:
    """vCPUs, memory in MiB and disk in GiB that are never allocated.

    They are what the host keeps for itself, and the overhead of its guests.
    """

    vcpus: int
    memory_mb: int
    disk_gb: int

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, *, guests: int) -> Self:
        """Return the configured amounts of a host with this number of guests."""
        return cls(
            vcpus=conf.reserved_host_cpus + guests * conf.compute.guest_overhead_vcpus,
            memory_mb=conf.reserved_host_memory_mb + guests * conf.compute.guest_overhead_memory_mb,
            disk_gb=math.ceil(conf.reserved_host_disk_mb / MIB_PER_GIB),
        )
