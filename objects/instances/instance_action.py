"""InstanceAction and its events: requested operations on an instance, and their steps."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceActionEvent(base.ArmillaryObject):
    """A step of an action on one host. ``result`` is Success, Error, or null while it runs."""

    event: str = fields.StringField()
    host: str | None = fields.StringField(nullable=True)
    attempt: int = fields.IntegerField(default=0)
    start_time: datetime | None = fields.DateTimeField(nullable=True)
    finish_time: datetime | None = fields.DateTimeField(nullable=True)
    result: str | None = fields.StringField(nullable=True)
    details: str | None = fields.StringField(nullable=True)


@base.ArmillaryObjectRegistry.register
class InstanceAction(base.ArmillaryObject):
    """An action requested by a user (create, delete …) and its outcome."""

    action: str = fields.StringField()
    instance_uuid: str = fields.UUIDField()
    request_id: str = fields.StringField()
    project_id: str | None = fields.StringField(nullable=True)
    user_id: str | None = fields.StringField(nullable=True)
    start_time: datetime | None = fields.DateTimeField(nullable=True)
    finish_time: datetime | None = fields.DateTimeField(nullable=True)
    message: str | None = fields.StringField(nullable=True)
    events: list[InstanceActionEvent] = fields.ListOfObjectsField("InstanceActionEvent", default=[])
