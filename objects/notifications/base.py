"""The base of all payloads: values go in, their wire form comes out, and nobody calls anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from oslo_versionedobjects import base as ovo

register = ovo.VersionedObjectRegistry.register


class NotificationPayload(ovo.VersionedObject):
    """What one kind of notification tells; each change of the fields is a new version.

    No process of ours receives one, so it has neither a binding nor older forms.
    """

    OBJ_SERIAL_NAMESPACE = "armillary_object"
    OBJ_PROJECT_NAMESPACE = "armillary"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Make a payload of plain values; those that it has no field for are left out."""
        return cls(**{name: facts[name] for name in cls.fields if name in facts})

    def wire_form(self) -> dict[str, Any]:
        """Return name, namespace, version and data, without a list of what changed: all did."""
        self.obj_reset_changes(recursive=True)
        return dict(self.obj_to_primitive())
