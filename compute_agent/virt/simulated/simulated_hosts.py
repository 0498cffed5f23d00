"""Parser of simulated host declarations; one declaration may define many hosts.

Functions for optional parts (NUMA cells, devices, metrics) raise ValueError with the reason.
"""

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import os_traits

from armillary import exception
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


def _parse_cells(values: Mapping[str, str], resources: HostResources) -> tuple[HostCell, ...]:
    """Return the NUMA cells; none unless the declaration contains NUMA settings.

    Without ``pcpus``, each CPU is both shared and dedicated, as on a machine without a CPU split.
    """
    threads = _whole(values, "siblings", 1, THREADS_MAX)
    if not {"numa", "pcpus", "siblings", "hugepages"} & values.keys():
        return ()
    count = _whole(values, "numa", 1, CELLS_MAX)
    shared = _share("vcpus", resources.vcpus, count, threads)
    dedicated = _share("pcpus", resources.pcpus, count, threads)
    memory_mb = resources.memory_mb // count
    pages = _pages(values.get("hugepages", ""), count, memory_mb)
    return tuple(
        _cell(number, dedicated, shared, threads, memory_mb, pages) for number in range(count)
    )


def _parse_devices(text: str, cell_count: int) -> tuple[PciDevice, ...]:
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


def _parse_metrics(text: str) -> dict[str, float]:
    """Return metric -> value for the monitors."""
    found: dict[str, float] = {}
    for part in filter(None, text.split("+")):
        name, _, value = part.partition("@")
        if name not in ALL_METRICS:
            raise ValueError(f"'{name}' is not one of the metrics {', '.join(ALL_METRICS)}")
        found[name] = _number(part, value)
    return found


def _whole(values: Mapping[str, str], key: str, least: int, most: int) -> int:
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


HOSTS_MAX = 100_000
PCPUS_MAX = 4096
_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")
_AMOUNTS = ("vcpus", "memory_mb", "disk_gb")
_AMOUNT_MAX = 2**31 - 1
_REQUIRED = ("name", *_AMOUNTS)
_KEYS = (*_REQUIRED, "traits", "numa", "pcpus", "siblings", "hugepages", "pci", "metrics")
_CUSTOM_TRAIT = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_EXAMPLE = "name=sim-{01..20}:vcpus=16:memory_mb=65536:disk_gb=500"


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedHost:
    """A simulated host. ``metrics`` are the values for monitors."""

    name: str
    resources: HostResources
    traits: frozenset[str]
    cells: tuple[HostCell, ...] = ()
    devices: tuple[PciDevice, ...] = ()
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)


def parse_hosts(declarations: Iterable[str]) -> list[SimulatedHost]:
    """Return the hosts of all declarations, in order.

    Raises ConfigurationError, which quotes the declaration.
    """
    texts = [text.strip() for value in declarations for text in value.split(",") if text.strip()]
    hosts = list(itertools.islice(itertools.chain.from_iterable(map(_parse, texts)), HOSTS_MAX + 1))
    if len(hosts) > HOSTS_MAX:
        raise _wrong(texts[-1], f"more than {HOSTS_MAX} hosts")
    names: set[str] = set()
    for host in hosts:
        if host.name in names:
            raise _wrong(host.name, "two hosts have this name")
        names.add(host.name)
    return hosts


def _parse(text: str) -> Iterator[SimulatedHost]:
    values = _split(text)
    host = _host(text, values)
    for name in _expand(text, values["name"]):
        if not _HOST_NAME.fullmatch(name):
            raise _wrong(text, f"'{name}' is not a host name")
        yield dataclasses.replace(host, name=name)


def _host(text: str, values: Mapping[str, str]) -> SimulatedHost:
    """Return the common properties of a declaration's hosts, with the unexpanded name."""
    traits = _traits(text, values.get("traits", ""))
    amounts = {key: _amount(text, key, values[key]) for key in _AMOUNTS}
    try:
        pcpus = _whole(values, "pcpus", 0, PCPUS_MAX)
        resources = HostResources(**amounts, pcpus=pcpus)
        cells = _parse_cells(values, resources)
        devices = _parse_devices(values.get("pci", ""), len(cells))
        metrics = _parse_metrics(values.get("metrics", ""))
    except ValueError as error:
        raise _wrong(text, str(error)) from error
    if any(cell.siblings for cell in cells):
        traits |= {os_traits.HW_CPU_HYPERTHREADING}
    return SimulatedHost(values["name"], resources, traits, cells, devices, metrics)


def _traits(text: str, value: str) -> frozenset[str]:
    traits = frozenset(filter(None, value.split("+")))
    for trait in sorted(traits):
        if trait not in os_traits.get_traits() and not _CUSTOM_TRAIT.fullmatch(trait):
            raise _wrong(text, f"{trait} is neither a standard trait nor CUSTOM_...")
    return traits


def _split(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in text.split(":"):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _KEYS:
            raise _wrong(text, f"'{part}' is not one of {', '.join(f'{key}=' for key in _KEYS)}")
        if key in values:
            raise _wrong(text, f"{key} is given twice")
        values[key] = value
    missing = [key for key in _REQUIRED if key not in values]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise _wrong(text, f"{' and '.join(missing)} {verb} missing")
    return values


def _amount(text: str, key: str, value: str) -> int:
    least = 0 if key == "disk_gb" else 1
    if not value.isascii() or not value.isdigit() or not least <= int(value) <= _AMOUNT_MAX:
        raise _wrong(text, f"{key} must be an integer from {least} to {_AMOUNT_MAX}")
    return int(value)


def _expand(text: str, name: str) -> Iterator[str]:
    """Yield the names; ``{01..20}`` expands to each number of the range, zero-padded."""
    match = _RANGE.search(name)
    if match is None:
        yield name
        return
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise _wrong(text, f"the range {match[0]} is empty")
    width = len(match[1]) if match[1].startswith("0") else 0
    for number in range(first, last + 1):
        for rest in _expand(text, name[match.end() :]):
            yield f"{name[: match.start()]}{number:0{width}d}{rest}"


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"[simulated] hosts: '{text}': {why}; expected for example {_EXAMPLE}"
    )
