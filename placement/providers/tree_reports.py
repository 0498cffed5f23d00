"""Reports of a provider with its children: one tree, accepted or refused as a whole. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armillary import exception
from armillary.names.identifiers import is_uuid
from placement.providers.provider_report import NAME_LENGTH_MAX, CurrentProvider, facts_after

CHILDREN_MAX = 1000
FAMILY_FIELDS = ("children", "former_children")


@dataclass(frozen=True, slots=True)
class TreePosition:
    """Position of a stored provider: its parent (None: it is a root), and the root of its tree."""

    parent: str | None
    root: str


@dataclass(frozen=True)
class Stored:
    """Stored state of the providers that reports name, by UUID."""

    facts: Mapping[str, CurrentProvider] = field(default_factory=dict)
    places: Mapping[str, TreePosition] = field(default_factory=dict)
    children: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Children of the providers that may be deleted."""


@dataclass(frozen=True)
class TreeChange:
    """Changes that one report makes to a tree.

    ``members`` are old (None: new) and new facts, parents first. ``parents`` maps new or moved
    children to parents, all below ``root``; ``gone`` lists providers to delete, children first.
    """

    root: str
    members: Sequence[tuple[CurrentProvider | None, CurrentProvider]]
    parents: Mapping[str, str]
    gone: Sequence[str]


def named_in(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the valid UUIDs of all providers that a report names."""
    yield from _uuids([report.get("uuid")])
    yield from children_in(report)
    yield from _uuids(_list(report, "former_children"))


def children_in(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the valid UUIDs of the children of a report."""
    for child in _list(report, "children"):
        yield from _uuids([child.get("uuid")] if isinstance(child, Mapping) else [])


def names_in(report: Mapping[str, Any]) -> Iterator[object]:
    """Yield the names of the provider and its children."""
    yield report.get("name")
    for child in _list(report, "children"):
        yield child.get("name") if isinstance(child, Mapping) else None


def with_free_names(report: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Return a report with the UUID in those names of its providers that are taken."""

    def free(one: Any) -> Any:
        name = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(name, str) or name not in taken:
            return one
        uuid = str(one.get("uuid"))
        return {**one, "name": f"{name[: NAME_LENGTH_MAX - len(uuid) - 1]} {uuid}"}

    children = _list(report, "children")
    below = {"children": [free(child) for child in children]} if children else {}
    return {**free(report), **below}


def size_of(report: Mapping[str, Any]) -> int:
    """Return the number of providers in a report."""
    return 1 + sum(len(_list(report, name)) for name in FAMILY_FIELDS)


def change_of(report: Mapping[str, Any], stored: Stored) -> TreeChange:
    """Return the changes of a report.

    Raises ``Invalid`` for a malformed report, ``InventoryInUse`` and ``ResourceProviderInUse`` if
    something to be removed has allocations, ``ResourceProviderHasChildren`` if a provider to be
    deleted has children of another owner.
    """
    own = {name: value for name, value in report.items() if name not in FAMILY_FIELDS}
    old = stored.facts.get(str(own.get("uuid")))
    new = facts_after(own, old)
    place = stored.places.get(new.uuid)
    root = place.root if place else new.uuid
    members: list[tuple[CurrentProvider | None, CurrentProvider]] = [(old, new)]
    parents: dict[str, str] = {}
    known = {new.uuid}
    for child in _children(report):
        before, after = _child(child, stored, known, root, place)
        known.add(after.uuid)
        members.append((before, after))
        present = stored.places.get(after.uuid)
        if present is None or present.parent != child["parent_uuid"]:
            parents[after.uuid] = child["parent_uuid"]
    gone = _gone(report, stored, known, root)
    _check_gone(gone, stored, parents)
    return TreeChange(root, members, parents, gone)


def _children(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    given = report.get("children", [])
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise _invalid(report, "children must be a list of objects")
    if len(given) > CHILDREN_MAX:
        raise _invalid(report, f"it has {len(given)} children; at most {CHILDREN_MAX} are allowed")
    return given


def _child(
    child: Mapping[str, Any],
    stored: Stored,
    known: Collection[str],
    root: str,
    root_place: TreePosition | None,
) -> tuple[CurrentProvider | None, CurrentProvider]:
    own = {name: value for name, value in child.items() if name != "parent_uuid"}
    before = stored.facts.get(str(own.get("uuid")))
    after = facts_after(own, before)
    if after.uuid in known:
        raise _invalid(child, "the provider occurs twice in one report")
    if child.get("parent_uuid") not in known:
        raise _invalid(child, "parent_uuid must be the provider's, or that of a child before it")
    place = stored.places.get(after.uuid)
    if place is not None and (root_place is None or place.root != root):
        raise _invalid(child, f"it is in the tree of resource provider {place.root}")
    return before, after


def _gone(
    report: Mapping[str, Any], stored: Stored, known: Collection[str], root: str
) -> list[str]:
    """Return the formerly reported children that exist below the root but are not reported now."""
    former = report.get("former_children", [])
    if not isinstance(former, list | tuple) or not all(is_uuid(uuid) for uuid in former):
        raise _invalid(report, "former_children must be a list of UUIDs")
    if len(former) > CHILDREN_MAX:
        raise _invalid(report, f"at most {CHILDREN_MAX} former children are allowed")
    found = {
        uuid
        for uuid in former
        if uuid not in known and uuid in stored.places and stored.places[uuid].root == root != uuid
    }
    return sorted(found, key=lambda uuid: (-_depth(uuid, stored), uuid))


def _depth(uuid: str, stored: Stored) -> int:
    depth, place = 0, stored.places.get(uuid)
    while place is not None and place.parent is not None:
        depth += 1
        place = stored.places.get(place.parent)
    return depth


def _check_gone(gone: Sequence[str], stored: Stored, parents: Mapping[str, str]) -> None:
    leaving = {*gone, *parents}
    for uuid in gone:
        if stored.facts[uuid].used:
            raise exception.ResourceProviderInUse(provider=uuid)
        if not leaving.issuperset(stored.children.get(uuid, ())):
            raise exception.ResourceProviderHasChildren(provider=uuid)


def _uuids(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        if is_uuid(value):
            yield str(value)


def _list(report: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = report.get(name, ())
    return value if isinstance(value, list | tuple) else ()


def _invalid(report: Mapping[str, Any], reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"resource provider {report.get('uuid')}: {reason}")
