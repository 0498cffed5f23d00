"""InstanceMapping: the cell or zone of an instance."""

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceMapping(base.ArmillaryObject):
    """``cell_uuid`` is null while no cell has the instance, ``zone_path`` unless a zone has it.

    It never leaves the super conductor.
    """

    VERSION = "1.0"

    fields = {
        "instance_uuid": fields.UUIDField(),
        "cell_uuid": fields.UUIDField(nullable=True),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "queued_for_delete": fields.BooleanField(default=False),
        "zone_path": fields.StringField(nullable=True),
    }

    instance_uuid: str
    cell_uuid: str | None
    project_id: str
    user_id: str
    queued_for_delete: bool
    zone_path: str | None
