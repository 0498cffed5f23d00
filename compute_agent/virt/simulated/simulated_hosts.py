"""Parser of simulated host declarations; one declaration may define many hosts."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

import os_traits

from armillary import exception
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.driver import HostResources
from compute_agent.virt.simulated import simulated_layout
from objects.numa import HostCell

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
        pcpus = simulated_layout.whole(values, "pcpus", 0, PCPUS_MAX)
        resources = HostResources(**amounts, pcpus=pcpus)
        cells = simulated_layout.cells(values, resources)
        devices = simulated_layout.devices(values.get("pci", ""), len(cells))
        metrics = simulated_layout.metrics(values.get("metrics", ""))
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
        raise _wrong(text, f"{', '.join(missing)} is missing")
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
