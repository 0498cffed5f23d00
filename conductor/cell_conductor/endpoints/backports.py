"""Backports of objects for peers of an older release."""

from collections.abc import Mapping
from typing import Any

from armillary import exception
from objects.base import ArmillaryObject, Primitive


def backport(target: Any, versions: Mapping[str, str]) -> Primitive:
    """Return an object's wire form in the versions that a peer knows. Raises Invalid."""
    if not isinstance(target, ArmillaryObject):
        raise exception.Invalid(reason=f"{type(target).__name__} is not a versioned object")
    wanted = versions.get(target.obj_name())
    if wanted is None:
        raise exception.Invalid(reason=f"no target version of {target.obj_name()} was given")
    primitive: Primitive = target.obj_to_primitive(
        target_version=wanted, version_manifest=dict(versions)
    )
    return primitive
