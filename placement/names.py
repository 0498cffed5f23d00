"""Which names there can be: resource classes and traits, standard and CUSTOM_, UUIDs, others."""

from __future__ import annotations

import functools
import re

import os_resource_classes
import os_traits

CUSTOM_PREFIX = "CUSTOM_"
_CUSTOM_NAME = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_custom(name: str) -> bool:
    """Tell whether a name is of the form that everybody may make up."""
    return _CUSTOM_NAME.fullmatch(name) is not None


def is_resource_class(name: str) -> bool:
    """Tell whether there can be such a resource class."""
    return name in _standard_classes() or is_custom(name)


def is_trait(name: str) -> bool:
    """Tell whether there can be such a trait."""
    return name in _standard_traits() or is_custom(name)


def is_uuid(value: object) -> bool:
    """Tell whether a value is a UUID in lower case with hyphens: those compare as text."""
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_text(value: object, length_max: int) -> bool:
    """Tell whether a value is a text that every database stores as it is."""
    return isinstance(value, str) and 1 <= len(value) <= length_max and value.isprintable()


@functools.cache
def _standard_classes() -> frozenset[str]:
    return frozenset(os_resource_classes.STANDARDS)


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
