"""InstanceAction and its events: requested operations on an instance, and their steps."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceActionEvent(base.ArmillaryObject):
    """A step of an action on one host. ``result`` is Success, Error, or null while it runs."""

    VERSION = "1.0"

    fields = {
        "event": fields.StringField(),
        "host": fields.StringField(nullable=True),
        "attempt": fields.IntegerField(default=0),
        "start_time": fields.DateTimeField(nullable=True),
        "finish_time": fields.DateTimeField(nullable=True),
        "result": fields.StringField(nullable=True),
        "details": fields.StringField(nullable=True),
    }

    event: str
    host: str | None
    attempt: int
    start_time: datetime | None
    finish_time: datetime | None
    result: str | None
    details: str | None


@base.ArmillaryObjectRegistry.register
class InstanceAction(base.ArmillaryObject):
    """An action requested by a user (create, delete …) and its outcome."""

    VERSION = "1.0"

    fields = {
        "action": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "request_id": fields.StringField(),
        "project_id": fields.StringField(nullable=True),
        "user_id": fields.StringField(nullable=True),
        "start_time": fields.DateTimeField(nullable=True),
        "finish_time": fields.DateTimeField(nullable=True),
        "message": fields.StringField(nullable=True),
        "events": fields.ListOfObjectsField("InstanceActionEvent", default=[]),
    }

    action: str
    instance_uuid: str
    request_id: str
    project_id: str | None
    user_id: str | None
    start_time: datetime | None
    finish_time: datetime | None
    message: str | None
    events: list[InstanceActionEvent]
