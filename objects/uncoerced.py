"""Make objects of values that are known to be right: nothing is checked, converted or copied.

For those that are made by the thousand from what our own code has made; whatever comes from
elsewhere goes through ``from_values``.
"""

from __future__ import annotations

from typing import Any, TypeVar

from objects.base import ArmillaryObject

T = TypeVar("T", bound=ArmillaryObject)


def make(cls: type[T], **values: Any) -> T:
    """Return an object of these very values, every field of the class, with no change pending."""
    made = cls()
    held = made.__dict__
    for name, value in values.items():
        held[f"_obj_{name}"] = value
    return made
