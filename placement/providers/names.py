"""Valid names: standard and custom resource classes and traits, UUIDs, text."""

import functools
import re
import uuid

import os_resource_classes
import os_traits
from oslo_utils import uuidutils

CUSTOM_PREFIX = "CUSTOM_"
_CUSTOM_NAME = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")


def is_custom(name: str) -> bool:
    """Return whether a name has the form of custom names."""
    return _CUSTOM_NAME.fullmatch(name) is not None


def is_resource_class(name: str) -> bool:
    """Return whether a name is valid for a resource class."""
    return is_standard_class(name) or is_custom(name)


def is_trait(name: str) -> bool:
    """Return whether a name is valid for a trait."""
    return is_standard_trait(name) or is_custom(name)


def is_standard_class(name: str) -> bool:
    """Return whether a resource class is standard."""
    return name in _class_order()


def is_standard_trait(name: str) -> bool:
    """Return whether a trait is standard."""
    return name in _standard_traits()


def standard_classes() -> list[str]:
    """Return the names of the standard resource classes, in canonical order."""
    return list(_class_order())


def standard_traits() -> frozenset[str]:
    """Return the names of the standard traits."""
    return _standard_traits()


def standard_first(resource_class: str) -> tuple[int, str]:
    """Return a sort key for resource classes: standard ones in canonical order, then others."""
    return _class_order().get(resource_class, len(_class_order())), resource_class


def to_uuid(value: str) -> str | None:
    """Return a UUID in lower case with hyphens, from any usual form; None if it is invalid."""
    return str(uuid.UUID(value)) if uuidutils.is_uuid_like(value) else None


def is_text(value: object, length_max: int) -> bool:
    """Return whether a value is text that every database stores unchanged."""
    return isinstance(value, str) and 1 <= len(value) <= length_max and value.isprintable()


@functools.cache
def _class_order() -> dict[str, int]:
    return {name: place for place, name in enumerate(os_resource_classes.STANDARDS)}


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
