"""InstanceMapping: which cell an instance is in."""

from __future__ import annotations

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceMapping(base.ArmillaryObject):
    """``cell_uuid`` is null while no cell has the instance."""

    VERSION = "1.0"

    fields = {
        "instance_uuid": fields.UUIDField(),
        "cell_uuid": fields.UUIDField(nullable=True),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "queued_for_delete": fields.BooleanField(default=False),
    }

    instance_uuid: str
    cell_uuid: str | None
    project_id: str
    user_id: str
    queued_for_delete: bool
