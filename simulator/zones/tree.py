"""Zones of a scenario: their names and their hosts."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.scenario.scenario import HostShape, ZoneTree
from simulator.scenario.scenario_errors import ScenarioError

ROOT = "z"
ZONES_MAX = 2_000
HOSTS_MAX = 2_000_000
FLAT_HOSTS_MAX = 100_000
_WITHOUT_ZONES = ("failures", "builds", "groups", "push_interval_seconds")


@dataclass(frozen=True, slots=True)
class ZonePlace:
    """One zone: the root is ``z``, its children ``z1``, ``z2``, theirs ``z1.1`` and so on."""

    name: str
    path: tuple[str, ...]
    """Names of the zones from below the root."""
    children: Sequence[ZonePlace] = field(default_factory=tuple)

    def all(self) -> Iterator[ZonePlace]:
        """Yield this zone and all zones below it, children before parents."""
        for child in self.children:
            yield from child.all()
        yield self


def parse_tree(document: Mapping[str, Any]) -> ZoneTree | None:
    """Return the tree of a scenario, None when it has none. Raises ``ScenarioError``."""
    given = document.get("zones")
    if given is None:
        return None
    for name in _WITHOUT_ZONES:
        if name in document:
            raise ScenarioError((name,), "not allowed with zones, which measure decisions only")
    if isinstance(document["load"], list):
        for index, stream in enumerate(document["load"]):
            if "group" in stream or "group" in stream.get("hints", {}):
                raise ScenarioError(("load", index), "server groups are not simulated with zones")
    tree = ZoneTree(
        widths=tuple(given["widths"]),
        are_hosts_everywhere=given.get("hosts_in", "leaves") == "all",
        compares_with_flat=given.get("compare_with_flat", False),
    )
    count = _zones_total(tree.widths)
    if count > ZONES_MAX:
        raise ScenarioError(
            ("zones", "widths"), f"found {count:,} zones; at most {ZONES_MAX:,} are allowed"
        )
    return tree


def check_hosts(tree: ZoneTree, shapes: Sequence[HostShape]) -> None:
    """Raise ``ScenarioError`` for hosts that are in no zone, and for too many hosts."""
    places = [place for place in root_of(tree).all() if has_hosts(tree, place)]
    for index, shape in enumerate(shapes):
        if shape.numa_cells:
            raise ScenarioError(("hosts", index), "NUMA cells are not simulated with zones")
        if not any(is_in(shape, place) for place in places):
            raise ScenarioError(
                ("hosts", index, "in_zones"), "no zone with hosts has a matching name"
            )
    total = hosts_total(tree, shapes)
    most = FLAT_HOSTS_MAX if tree.compares_with_flat else HOSTS_MAX
    if total > most:
        to_compare = " to be compared with a flat scheduler" if tree.compares_with_flat else ""
        raise ScenarioError(
            ("hosts",), f"found {total:,} in all zones; at most {most:,} are allowed{to_compare}"
        )


def root_of(tree: ZoneTree) -> ZonePlace:
    return _place(ROOT, (), tree.widths)


def has_hosts(tree: ZoneTree, place: ZonePlace) -> bool:
    return tree.are_hosts_everywhere or not place.children


def is_in(shape: HostShape, place: ZonePlace) -> bool:
    """Return whether hosts of a shape are in a zone, provided that it has hosts."""
    return any(fnmatch.fnmatchcase(place.name, pattern) for pattern in shape.in_zones)


def hosts_total(tree: ZoneTree, shapes: Sequence[HostShape]) -> int:
    return sum(
        len(shape.names)
        for place in root_of(tree).all()
        if has_hosts(tree, place)
        for shape in shapes
        if is_in(shape, place)
    )


def _place(name: str, path: tuple[str, ...], widths: Sequence[int]) -> ZonePlace:
    if not widths:
        return ZonePlace(name, path)
    dot = "." if path else ""
    names = [f"{name}{dot}{number}" for number in range(1, widths[0] + 1)]
    return ZonePlace(name, path, [_place(each, (*path, each), widths[1:]) for each in names])


def _zones_total(widths: Sequence[int]) -> int:
    total = level = 1
    for width in widths:
        level *= width
        total += level
    return total
