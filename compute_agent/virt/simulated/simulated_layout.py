"""Optional parts of a simulated host's declaration: NUMA cells, devices and metrics.

Functions raise ValueError with the reason.
"""

import math
import re
from collections.abc import Mapping, Sequence

from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import HostResources
from compute_agent.virt.machine.machine_numa import ordinary_pages
from compute_agent.virt.metrics import ALL_METRICS
from objects.numa import HostCell, PagePool
from objects.pci.pci import DEVICE_TYPES

CELLS_MAX = 64
THREADS_MAX = 8
DEVICES_MAX = 4096
ORDINARY_PAGE_KB = 4
_KIB_PER_MIB = 1024
_WHOLE = re.compile(r"[0-9]{1,9}")
_DEVICES = re.compile(r"([0-9a-fA-F]{4})/([0-9a-fA-F]{4})(?:/(PCI|PF|VF))?@([0-9]{1,4})")
_PAGES = re.compile(r"([0-9]{1,9})@([0-9]{1,9})")
_SLOTS_PER_BUS = 32


def cells(values: Mapping[str, str], resources: HostResources) -> tuple[HostCell, ...]:
    """Return the NUMA cells; none unless the declaration contains NUMA settings.

    Without ``pcpus``, each CPU is both shared and dedicated, as on a machine without a CPU split.
    """
    threads = whole(values, "siblings", 1, THREADS_MAX)
    if not {"numa", "pcpus", "siblings", "hugepages"} & values.keys():
        return ()
    count = whole(values, "numa", 1, CELLS_MAX)
    shared = _share("vcpus", resources.vcpus, count, threads)
    dedicated = _share("pcpus", resources.pcpus, count, threads)
    memory_mb = resources.memory_mb // count
    pages = _pages(values.get("hugepages", ""), count, memory_mb)
    return tuple(
        _cell(number, dedicated, shared, threads, memory_mb, pages) for number in range(count)
    )


def devices(text: str, cell_count: int) -> tuple[PciDevice, ...]:
    """Return the PCI devices, distributed over the cells in rotation."""
    found: list[PciDevice] = []
    for part in filter(None, text.split("+")):
        match = _DEVICES.fullmatch(part)
        if match is None:
            raise ValueError(f"'{part}' is not VENDOR/PRODUCT@COUNT or VENDOR/PRODUCT/VF@COUNT")
        for _ in range(int(match[4])):
            found.append(_device(len(found), match, cell_count))
    if len(found) > DEVICES_MAX:
        raise ValueError(f"more than {DEVICES_MAX} devices")
    return tuple(found)


def metrics(text: str) -> dict[str, float]:
    """Return metric -> value for the monitors."""
    found: dict[str, float] = {}
    for part in filter(None, text.split("+")):
        name, _, value = part.partition("@")
        if name not in ALL_METRICS:
            raise ValueError(f"'{name}' is not one of the metrics {', '.join(ALL_METRICS)}")
        found[name] = _number(part, value)
    return found


def whole(values: Mapping[str, str], key: str, least: int, most: int) -> int:
    """Return an integer of the declaration, or the minimum if it is omitted."""
    text = values.get(key, str(least))
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(f"{key} must be an integer from {least} to {most}")
    return int(text)


def _share(key: str, total: int, cell_count: int, threads: int) -> int:
    if total % (cell_count * threads):
        raise ValueError(
            f"{key}={total} cannot be split evenly into {cell_count} cells of cores with "
            f"{threads} threads"
        )
    return total // cell_count


def _cell(
    number: int,
    dedicated: int,
    shared: int,
    threads: int,
    memory_mb: int,
    pages: tuple[PagePool, ...],
) -> HostCell:
    first = number * (dedicated + shared)
    pcpus = range(first, first + dedicated)
    cpus = range(pcpus.stop, pcpus.stop + shared)
    siblings = (*_cores(pcpus, threads), *_cores(cpus, threads))
    return HostCell(
        id=number,
        socket=number,
        cpus=frozenset(cpus),
        pcpus=frozenset(pcpus or cpus),
        siblings=siblings,
        memory_mb=memory_mb,
        pages=pages,
    )


def _cores(cpus: Sequence[int], threads: int) -> tuple[frozenset[int], ...]:
    if threads == 1:
        return ()
    return tuple(frozenset(cpus[at : at + threads]) for at in range(0, len(cpus), threads))


def _pages(text: str, cell_count: int, memory_mb: int) -> tuple[PagePool, ...]:
    pools = []
    for part in filter(None, text.split("+")):
        match = _PAGES.fullmatch(part)
        if match is None:
            raise ValueError(f"'{part}' is not SIZE@COUNT with a page size in KiB")
        size_kb, total = int(match[1]), int(match[2])
        if total % cell_count:
            raise ValueError(f"'{part}' cannot be split evenly into {cell_count} cells")
        pools.append(PagePool(size_kb, total // cell_count))
    if sum(pool.size_kb * pool.total for pool in pools) > memory_mb * _KIB_PER_MIB:
        raise ValueError("the huge pages exceed the memory")
    return (ordinary_pages(memory_mb, pools, ORDINARY_PAGE_KB), *pools)


def _device(number: int, match: re.Match[str], cell_count: int) -> PciDevice:
    bus, slot = divmod(number, _SLOTS_PER_BUS)
    return PciDevice(
        address=f"0000:{bus + 1:02x}:{slot:02x}.0",
        vendor_id=match[1].lower(),
        product_id=match[2].lower(),
        dev_type=next(kind for kind in DEVICE_TYPES if kind.endswith(f"-{match[3] or 'PCI'}")),
        numa_node=number % cell_count if cell_count else None,
    )


def _number(part: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise ValueError(f"'{part}' is not METRIC@NUMBER") from error
    if not math.isfinite(value):
        raise ValueError(f"'{part}' is not METRIC@NUMBER")
    return value
