"""Detection of equal requests, which one decision can serve together."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from objects.base import ArmillaryObject
from objects.request_spec import RequestSpec

T = TypeVar("T")

_APART = frozenset({"instance_uuid", "instance_group"})
_OF_GROUPS_NOW = frozenset({"members", "hosts"})
"""A server group's members and hosts change with each request; the union applies to all."""


def rough_key(spec: RequestSpec) -> Hashable:
    """Return a cheap key that is equal for equal requests; others may share it."""
    flavor, image, group = (_value(spec, name) for name in ("flavor", "image", "instance_group"))
    return (
        _value(spec, "project_id"),
        flavor and _value(flavor, "flavorid"),
        image and _value(image, "id"),
        group and _value(group, "uuid"),
    )


def are_alike(one: RequestSpec, other: RequestSpec) -> bool:
    """Return whether two requests differ only in instance and known group members.

    Fields that are set in only one of them count as a difference.
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
    """Yield items with equal specs together, ordered by the first item of each group."""
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


def joint_spec(specs: Sequence[RequestSpec], uuids: Iterable[str]) -> RequestSpec:
    """Return a copy of equal specs for one decision about all of them and their instances.

    Its server group has the members and hosts known to any of them; ``uuids`` are members, too.
    """
    first, *others = specs
    spec: RequestSpec = first.obj_clone()
    spec.obj_set_defaults_quietly()
    group = spec.instance_group
    if group is not None:
        known = [group, *(other.instance_group for other in others if other.instance_group)]
        members = [uuid for each in known for uuid in _value(each, "members") or ()]
        hosts = [host for each in known for host in _value(each, "hosts") or ()]
        group.members = list(dict.fromkeys((*members, *uuids)))
        group.hosts = hosts if len(known) == 1 else list(dict.fromkeys(hosts))
    return spec


def _value(holder: ArmillaryObject, name: str) -> Any:
    return getattr(holder, name) if holder.obj_attr_is_set(name) else None
