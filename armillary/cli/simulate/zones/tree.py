"""Which zones a scenario has, which hosts are in each, and what they are called."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armillary.cli.simulate.problem import Mistake
from armillary.cli.simulate.scenario import HostShape, ZoneTree

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
    """From below the root on."""
    children: Sequence[ZonePlace] = field(default_factory=tuple)

    def all(self) -> Iterator[ZonePlace]:
        """Yield this zone and all below it, children before their parents."""
        for child in self.children:
            yield from child.all()
        yield self


def parse_tree(document: Mapping[str, Any]) -> ZoneTree | None:
    """Return the tree of a scenario, None when it has none. Raises ``Mistake``."""
    given = document.get("zones")
    if given is None:
        return None
    for name in _WITHOUT_ZONES:
        if name in document:
            raise Mistake((name,), "a scenario with zones has none: it measures decisions alone")
    if isinstance(document["load"], list):
        for index, stream in enumerate(document["load"]):
            if "group" in stream or "group" in stream.get("hints", {}):
                raise Mistake(("load", index), "server groups are not simulated with zones")
    tree = ZoneTree(
        widths=tuple(given["widths"]),
        are_hosts_everywhere=given.get("hosts_in", "leaves") == "all",
        compares_with_flat=given.get("compare_with_flat", False),
    )
    count = _zones_total(tree.widths)
    if count > ZONES_MAX:
        raise Mistake(("zones", "widths"), f"found {count:,} zones; allowed are {ZONES_MAX:,}")
    return tree


def check_hosts(tree: ZoneTree, shapes: Sequence[HostShape]) -> None:
    """Raise ``Mistake`` for hosts that are in no zone, and for too many of them."""
    places = [place for place in root_of(tree).all() if has_hosts(tree, place)]
    for index, shape in enumerate(shapes):
        if shape.numa_cells:
            raise Mistake(("hosts", index), "NUMA cells are not simulated with zones")
        if not any(is_in(shape, place) for place in places):
            raise Mistake(
                ("hosts", index, "in_zones"), "no zone with hosts has a name like one of these"
            )
    total = hosts_total(tree, shapes)
    most = FLAT_HOSTS_MAX if tree.compares_with_flat else HOSTS_MAX
    if total > most:
        to_compare = " to be compared with a flat scheduler" if tree.compares_with_flat else ""
        raise Mistake(("hosts",), f"found {total:,} in all zones; allowed are {most:,}{to_compare}")


def root_of(tree: ZoneTree) -> ZonePlace:
    """Return the root, which has all others below it."""
    return _place(ROOT, (), tree.widths)


def has_hosts(tree: ZoneTree, place: ZonePlace) -> bool:
    """Tell whether a zone has hosts of its own."""
    return tree.are_hosts_everywhere or not place.children


def is_in(shape: HostShape, place: ZonePlace) -> bool:
    """Tell whether hosts of a shape are in a zone, if that has hosts at all."""
    return any(fnmatch.fnmatchcase(place.name, pattern) for pattern in shape.in_zones)


def hosts_total(tree: ZoneTree, shapes: Sequence[HostShape]) -> int:
    """Return how many hosts there are in all zones."""
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
