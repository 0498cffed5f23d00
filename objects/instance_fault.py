"""InstanceFault: why an attempt failed."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class InstanceFault(base.ArmillaryObject):
    """A failed attempt. ``message`` is for the user, ``details`` for administrators only."""

    instance_uuid: str = fields.UUIDField()
    attempt: int = fields.IntegerField(default=0)
    host: str | None = fields.StringField(nullable=True)
    code: int = fields.IntegerField(default=500)
    message: str = fields.StringField()
    details: str | None = fields.StringField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
