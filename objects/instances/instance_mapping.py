"""InstanceMapping: the cell or zone of an instance."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceMapping(base.ArmillaryObject):
    """``cell_uuid`` is null while no cell has the instance, ``zone_path`` unless a zone has it.

    It never leaves the super conductor.
    """

    instance_uuid: str = fields.UUIDField()
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    project_id: str = fields.StringField()
    user_id: str = fields.StringField()
    queued_for_delete: bool = fields.BooleanField(default=False)
    zone_path: str | None = fields.StringField(nullable=True)
    created_at: datetime = fields.DateTimeField()
