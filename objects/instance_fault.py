"""InstanceFault: why an attempt failed."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceFault(base.ArmillaryObject):
    """A failed attempt. ``message`` is for the user, ``details`` for administrators only."""

    VERSION = "1.0"

    fields = {
        "instance_uuid": fields.UUIDField(),
        "attempt": fields.IntegerField(default=0),
        "host": fields.StringField(nullable=True),
        "code": fields.IntegerField(default=500),
        "message": fields.StringField(),
        "details": fields.StringField(nullable=True),
        "created_at": fields.DateTimeField(nullable=True),
    }

    instance_uuid: str
    attempt: int
    host: str | None
    code: int
    message: str
    details: str | None
    created_at: datetime | None
