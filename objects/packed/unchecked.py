"""Creation of objects without validation, conversion or copies, from trusted values.

For objects created by the thousand from our own values; anything external must use
``from_values``.
"""

from typing import Any, TypeVar

from objects.base import ArmillaryObject

T = TypeVar("T", bound=ArmillaryObject)


def make(cls: type[T], **values: Any) -> T:
    """Return an object with these values for all fields of the class, with no changes pending."""
    made = cls()
    held = made.__dict__
    for name, value in values.items():
        held[f"_obj_{name}"] = value
    return made
