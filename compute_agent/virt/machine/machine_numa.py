"""NUMA cells of this machine, from ``/sys/devices/system``."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, PagePool, parse_cpus

SYSTEM = Path("/sys/devices/system")
MEMINFO = Path("/proc/meminfo")
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_KIB_PER_MIB = 1024
_NODE = re.compile(r"node(\d+)")
_PAGES = re.compile(r"hugepages-(\d+)kB")
_TOTAL = re.compile(r"MemTotal:\s+(\d+) kB")


def cells(split: CpuSplit, system: Path = SYSTEM, meminfo: Path = MEMINFO) -> tuple[HostCell, ...]:
    """Return the cells that have CPUs for workloads, without usage.

    Without a configured split, each CPU counts as both shared and dedicated: no PCPU is offered
    then, and requests for dedicated CPUs may be given VCPU instead. A kernel without NUMA nodes
    counts as one cell. If there is only one node, the total memory is used, because the node may
    report too little, as in guests whose memory grew. Raises OSError, ValueError.
    """
    nodes = sorted(
        (int(match[1]), path)
        for path in (system / "node").glob("node*")
        if (match := _NODE.fullmatch(path.name))
    )
    offered = split.shared | split.dedicated
    if not nodes:
        pages = Path("/sys/kernel/mm/hugepages") if system == SYSTEM else system / "hugepages"
        found = [_cell(0, offered, _total_mb(meminfo), _page_pools(pages), split, system)]
    else:
        found = [
            _cell(
                number,
                _cpu_list(path / "cpulist"),
                _total_mb(path / "meminfo" if len(nodes) > 1 else meminfo),
                _page_pools(path / "hugepages"),
                split,
                system,
            )
            for number, path in nodes
        ]
    return tuple(cell for cell in found if cell.cpus or cell.pcpus)


def _cell(
    number: int,
    cpus: frozenset[int],
    memory_mb: int,
    pages: tuple[PagePool, ...],
    split: CpuSplit,
    system: Path,
) -> HostCell:
    offered = cpus & (split.shared | split.dedicated)
    return HostCell(
        id=number,
        socket=_socket(min(offered), system) if offered else None,
        cpus=cpus & split.shared,
        pcpus=cpus & (split.dedicated if split.is_configured else split.shared),
        siblings=_siblings(offered, system),
        memory_mb=memory_mb,
        pages=(ordinary_pages(memory_mb, pages), *pages),
    )


def ordinary_pages(memory_mb: int, huge: Iterable[PagePool], size_kb: int = PAGE_KB) -> PagePool:
    """Return the pool of ordinary pages, which make up a cell's memory beside the huge pages."""
    left_kb = memory_mb * _KIB_PER_MIB - sum(pool.size_kb * pool.total for pool in huge)
    return PagePool(size_kb, max(0, left_kb) // size_kb)


def _siblings(cpus: frozenset[int], system: Path) -> tuple[frozenset[int], ...]:
    """Return the threads of each core with several threads in ``cpus``."""
    cores = {_threads(cpu, system) & cpus for cpu in cpus}
    return tuple(sorted((core for core in cores if len(core) > 1), key=min))


def _threads(cpu: int, system: Path) -> frozenset[int]:
    try:
        return _cpu_list(system / f"cpu/cpu{cpu}/topology/thread_siblings_list")
    except FileNotFoundError:
        return frozenset({cpu})


def _socket(cpu: int, system: Path) -> int | None:
    try:
        text = (system / f"cpu/cpu{cpu}/topology/physical_package_id").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    number = int(text)
    return number if number >= 0 else None  # -1 if the firmware does not report it


def _cpu_list(path: Path) -> frozenset[int]:
    text = path.read_text(encoding="ascii").strip()
    return parse_cpus(text) if text else frozenset()  # a node may have only memory


def _total_mb(path: Path) -> int:
    match = _TOTAL.search(path.read_text(encoding="ascii"))
    if match is None:
        raise ValueError(f"{path} has no MemTotal")
    return int(match[1]) // _KIB_PER_MIB


def _page_pools(path: Path) -> tuple[PagePool, ...]:
    sizes = ((_PAGES.fullmatch(entry.name), entry) for entry in _entries(path))
    pools = [
        PagePool(int(match[1]), int((entry / "nr_hugepages").read_text(encoding="ascii")))
        for match, entry in sizes
        if match
    ]
    return tuple(sorted((pool for pool in pools if pool.total), key=lambda pool: pool.size_kb))


def _entries(path: Path) -> Iterable[Path]:
    return path.iterdir() if path.is_dir() else ()
