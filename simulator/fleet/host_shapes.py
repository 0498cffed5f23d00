"""Parsing of a scenario's hosts: names, amounts, traits, attributes."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import os_resource_classes
import os_traits

from objects.hosts.host_attributes import BY_NAME, Collector, Kind, collected_by
from simulator.scenario.scenario import CELL, HOSTS_MAX, Amount, HostShape
from simulator.scenario.scenario_errors import Place, ScenarioError, found

_RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,198}[A-Za-z0-9])?")


def expand(pattern: str) -> Iterator[str]:
    """Yield the names of a pattern; ``{01..20}`` keeps the number of digits of its first number.

    Raises ``ValueError`` for an empty range or an invalid host name.
    """
    match = _RANGE.search(pattern)
    if match is None:
        if not _HOST_NAME.fullmatch(pattern):
            raise ValueError(
                f"'{pattern}' is not a host name: use letters, digits and ._- with a letter "
                "or digit at both ends, and numbers as {01..20}"
            )
        yield pattern
        return
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise ValueError(f"the range {match[0]} is empty")
    width = len(match[1]) if match[1].startswith("0") else 0
    for number in range(first, last + 1):
        yield from expand(f"{pattern[: match.start()]}{number:0{width}d}{pattern[match.end() :]}")


FIELDS = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "disk_gb"}
PCPU = "PCPU"
_OF_KIND: dict[Kind, tuple[type, ...]] = {
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.BOOL: (bool,),
    Kind.TEXT: (str,),
    Kind.JSON: (list, dict),
}
_SETTABLE = tuple(attribute.name for attribute in collected_by(Collector.DRIVER, Collector.MONITOR))


def parse_hosts(
    documents: Sequence[Mapping[str, Any]], aggregates: Iterable[str]
) -> list[HostShape]:
    """Return the host shapes; ``aggregates`` are the existing ones. Raises ``ScenarioError``."""
    known = set(aggregates)
    names: set[str] = set()
    shapes = []
    for index, document in enumerate(documents):
        place = ("hosts", index)
        shapes.append(_shape(document, place, known))
        for name in shapes[-1].names:
            if name in names:
                raise ScenarioError((*place, "name"), f"duplicate host name {name}")
            names.add(name)
        if len(names) > HOSTS_MAX:
            raise ScenarioError(place, f"at most {HOSTS_MAX:,} hosts are allowed")
    return shapes


def _shape(document: Mapping[str, Any], place: Place, aggregates: set[str]) -> HostShape:
    for index, trait in enumerate(document.get("traits", ())):
        if trait not in os_traits.get_traits() and not os_traits.is_custom(trait):
            raise ScenarioError(
                (*place, "traits", index),
                f"found {found(trait)}; allowed are standard traits and CUSTOM_...",
            )
    for index, name in enumerate(document.get("aggregates", ())):
        if name not in aggregates:
            allowed = ", ".join(sorted(aggregates)) or "none, as the scenario has no aggregates"
            raise ScenarioError(
                (*place, "aggregates", index), f"found {found(name)}; allowed are {allowed}"
            )
    _check_attributes(document.get("attributes", {}), (*place, "attributes"))
    return HostShape(
        names=_names(document["name"], (*place, "name")),
        amounts=_amounts(document, place),
        cell=document.get("cell", CELL),
        zone=document.get("zone"),
        aggregates=tuple(document.get("aggregates", ())),
        traits=tuple(document.get("traits", ())),
        numa_cells=document.get("numa_cells", 1 if document.get("pcpus") else 0),
        attributes=document.get("attributes", {}),
        in_zones=tuple(document.get("in_zones", ("*",))),
    )


def _names(pattern: str, place: Place) -> list[str]:
    try:
        names = list(itertools.islice(expand(pattern), HOSTS_MAX + 1))
    except ValueError as error:
        raise ScenarioError(place, str(error)) from None
    if len(names) > HOSTS_MAX:
        raise ScenarioError(place, f"{found(pattern)} exceeds the maximum of {HOSTS_MAX:,} hosts")
    return names


def _amounts(document: Mapping[str, Any], place: Place) -> dict[str, Amount]:
    ratios, reserved = document.get("allocation_ratios", {}), document.get("reserved", {})
    amounts = {}
    for resource_class, field in FIELDS.items():
        total, kept = document.get(field, 0), reserved.get(field, 0)
        if kept > total:
            raise ScenarioError(
                (*place, "reserved", field), f"found {kept}; the host has {total} in all"
            )
        if total:
            amounts[resource_class] = Amount(total, kept, float(ratios.get(field, 1.0)))
    if document.get("pcpus"):
        amounts[PCPU] = Amount(document["pcpus"])
    for resource_class, total in document.get("resources", {}).items():
        _check_class(resource_class, (*place, "resources"))
        amounts[resource_class] = Amount(total)
    return amounts


def _check_class(name: str, place: Place) -> None:
    if name in FIELDS or name == PCPU:
        field = FIELDS.get(name, "pcpus")
        raise ScenarioError(place, f"found {name}, which must be given as {field}")
    if name not in os_resource_classes.STANDARDS and not os_resource_classes.is_custom(name):
        raise ScenarioError(
            place, f"found {found(name)}; allowed are standard resource classes and CUSTOM_..."
        )


def _check_attributes(values: Mapping[str, Any], place: Place) -> None:
    for name, value in values.items():
        if name not in _SETTABLE:
            raise ScenarioError(place, f"found {found(name)}; allowed are {', '.join(_SETTABLE)}")
        kind = BY_NAME[name].kind
        is_bool = isinstance(value, bool)
        if not isinstance(value, _OF_KIND[kind]) or (is_bool and kind is not Kind.BOOL):
            raise ScenarioError((*place, name), f"found {found(value)}; allowed is {kind.value}")
