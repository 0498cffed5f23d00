"""Versioned objects that a type hint names: the only ones made from the values of a message."""

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

from objects.base import ArmillaryObject

Declared = frozenset[str] | None
"""Names of objects; None means any registered one."""


def declared_objects(*hints: Any) -> Declared:
    """Return the objects that type hints name, also in the fields of dataclasses.

    An object's own fields name what they hold.
    """
    found = set(_objects_in(hints, set()))
    return None if ArmillaryObject in found else frozenset(each.obj_name() for each in found)


def _objects_in(hints: tuple[Any, ...], seen: set[Any]) -> Iterator[type[ArmillaryObject]]:
    for hint in hints:
        if isinstance(hint, type) and issubclass(hint, ArmillaryObject):
            yield hint
        elif dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
            if hint not in seen:
                seen.add(hint)
                yield from _objects_in(tuple(typing.get_type_hints(hint).values()), seen)
        else:
            yield from _objects_in(typing.get_args(hint), seen)
