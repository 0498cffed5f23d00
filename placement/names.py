"""Which names there can be: resource classes and traits, standard and CUSTOM_, UUIDs, others."""

from __future__ import annotations

import functools
import re
import uuid

import os_resource_classes
import os_traits
from oslo_utils import uuidutils

CUSTOM_PREFIX = "CUSTOM_"
_CUSTOM_NAME = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_custom(name: str) -> bool:
    """Tell whether a name is of the form that everybody may make up."""
    return _CUSTOM_NAME.fullmatch(name) is not None


def is_resource_class(name: str) -> bool:
    """Tell whether there can be such a resource class."""
    return is_standard_class(name) or is_custom(name)


def is_trait(name: str) -> bool:
    """Tell whether there can be such a trait."""
    return is_standard_trait(name) or is_custom(name)


def is_standard_class(name: str) -> bool:
    """Tell whether a resource class is one that is always there."""
    return name in _class_order()


def is_standard_trait(name: str) -> bool:
    """Tell whether a trait is one that is always there."""
    return name in _standard_traits()


def standard_classes() -> list[str]:
    """Return the names of the standard resource classes, in their own order."""
    return list(_class_order())


def standard_traits() -> frozenset[str]:
    """Return the names of the standard traits."""
    return _standard_traits()


def standard_first(resource_class: str) -> tuple[int, str]:
    """Return what to sort resource classes by: standard ones in their order, then the others."""
    return _class_order().get(resource_class, len(_class_order())), resource_class


def is_uuid(value: object) -> bool:
    """Tell whether a value is a UUID in lower case with hyphens: those compare as text."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def to_uuid(value: str) -> str | None:
    """Return a UUID in lower case with hyphens, from any of its usual forms; None for others."""
    return str(uuid.UUID(value)) if uuidutils.is_uuid_like(value) else None


def is_text(value: object, length_max: int) -> bool:
    """Tell whether a value is a text that every database stores as it is."""
    return isinstance(value, str) and 1 <= len(value) <= length_max and value.isprintable()


@functools.cache
def _class_order() -> dict[str, int]:
    return {name: place for place, name in enumerate(os_resource_classes.STANDARDS)}


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
