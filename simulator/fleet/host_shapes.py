"""Parsing of a scenario's hosts: names, amounts, traits, attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import os_resource_classes
import os_traits

from objects.hosts.host_attributes import BY_NAME, Collector, Kind, collected_by
from simulator.fleet import host_names
from simulator.scenario.scenario import CELL, HOSTS_MAX, Amount, HostShape
from simulator.scenario.scenario_errors import Place, ScenarioError, found

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
    return HostShape(
        names=_names(document["name"], (*place, "name")),
        amounts=_amounts(document, place),
        cell=document.get("cell", CELL),
        zone=document.get("zone"),
        aggregates=tuple(document.get("aggregates", ())),
        traits=tuple(document.get("traits", ())),
        numa_cells=document.get("numa_cells", 1 if document.get("pcpus") else 0),
        attributes=_attributes(document.get("attributes", {}), (*place, "attributes")),
        in_zones=tuple(document.get("in_zones", ("*",))),
    )


def _names(pattern: str, place: Place) -> list[str]:
    try:
        names = list(itertools.islice(host_names.expand(pattern), HOSTS_MAX + 1))
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


def _attributes(values: Mapping[str, Any], place: Place) -> dict[str, Any]:
    for name, value in values.items():
        if name not in _SETTABLE:
            raise ScenarioError(place, f"found {found(name)}; allowed are {', '.join(_SETTABLE)}")
        kind = BY_NAME[name].kind
        is_bool = isinstance(value, bool)
        if not isinstance(value, _OF_KIND[kind]) or (is_bool and kind is not Kind.BOOL):
            raise ScenarioError((*place, name), f"found {found(value)}; allowed is {kind.value}")
    return dict(values)
