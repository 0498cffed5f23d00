"""Tell which requests ask for the same, so that one look at the hosts decides all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from objects.base import ArmillaryObject
from objects.request_spec import RequestSpec

T = TypeVar("T")

_APART = frozenset({"instance_uuid", "instance_group"})
_OF_GROUPS_NOW = frozenset({"members", "hosts"})
"""What is known of a server group grows with each request; for all of them all of it holds."""


def rough_key(spec: RequestSpec) -> Hashable:
    """Return what equal requests have in common; quickly made, so others may have it, too."""
    flavor, image, group = (_value(spec, name) for name in ("flavor", "image", "instance_group"))
    return (
        _value(spec, "project_id"),
        flavor and _value(flavor, "flavorid"),
        image and _value(image, "id"),
        group and _value(group, "uuid"),
    )


def are_alike(one: RequestSpec, other: RequestSpec) -> bool:
    """Tell whether two requests differ at most in their instance and what they know of its group.

    Fields that are set in one and not in the other make a difference.
    """
    if one is other:
        return True
    if not one.is_equal(other, but=_APART):
        return False
    group, another = _value(one, "instance_group"), _value(other, "instance_group")
    if group is None or another is None:
        return group is another
    return bool(group.is_equal(another, but=_OF_GROUPS_NOW))


def grouped(items: Iterable[T], specs: Sequence[RequestSpec]) -> Iterator[list[T]]:
    """Yield the items whose specs are alike together, in the order of the first of each."""
    groups: list[tuple[RequestSpec, list[T]]] = []
    for item, spec in zip(items, specs, strict=True):
        for known, members in groups:
            if are_alike(known, spec):
                members.append(item)
                break
        else:
            groups.append((spec, [item]))
    for _, members in groups:
        yield members


def merge_groups(spec: RequestSpec, others: Iterable[RequestSpec], uuids: Iterable[str]) -> None:
    """Let the server group of ``spec`` have the members and hosts that any of the others knows.

    ``uuids`` are members, too.
    """
    group = spec.instance_group
    if group is None:
        return
    known = [group, *(other.instance_group for other in others if other.instance_group)]
    members = [uuid for each in known for uuid in _value(each, "members") or ()]
    hosts = [host for each in known for host in _value(each, "hosts") or ()]
    group.members = list(dict.fromkeys((*members, *uuids)))
    group.hosts = hosts if len(known) == 1 else list(dict.fromkeys(hosts))


def _value(holder: ArmillaryObject, name: str) -> Any:
    return getattr(holder, name) if holder.obj_attr_is_set(name) else None
