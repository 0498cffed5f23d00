"""Backports of objects for peers of an older release."""

from collections.abc import Mapping
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from objects.base import ArmillaryObject, Primitive


class Backports:
    """Endpoint, see ``CellConductorAPI``."""

    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: Mapping[str, str]
    ) -> Primitive:
        if not isinstance(objinst, ArmillaryObject):
            raise exception.Invalid(reason=f"{type(objinst).__name__} is not a versioned object")
        wanted = object_versions.get(objinst.obj_name())
        if wanted is None:
            raise exception.Invalid(reason=f"no target version of {objinst.obj_name()} was given")
        primitive: Primitive = objinst.obj_to_primitive(
            target_version=wanted, version_manifest=dict(object_versions)
        )
        return primitive
