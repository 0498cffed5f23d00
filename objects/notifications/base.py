"""Base of notification payloads: plain values in, wire form out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from oslo_versionedobjects import base as ovo

register = ovo.VersionedObjectRegistry.register


class NotificationPayload(ovo.VersionedObject):
    """Payload of one kind of notification; each change of its fields is a new version.

    No Armillary process receives it, so it needs no binding and no conversion to older versions.
    """

    OBJ_SERIAL_NAMESPACE = "armillary_object"
    OBJ_PROJECT_NAMESPACE = "armillary"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Make a payload of plain values; values without a field are ignored."""
        return cls(**{name: facts[name] for name in cls.fields if name in facts})

    def wire_form(self) -> dict[str, Any]:
        """Return name, namespace, version and data, without the list of changes."""
        self.obj_reset_changes(recursive=True)
        return dict(self.obj_to_primitive())
