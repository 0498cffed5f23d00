"""InstanceFault: why an attempt failed."""

from datetime import datetime

from objects import base, fields

FAILED = 500
"""Code of a fault that may pass."""
NUMBER_USED = 409
"""Code of a fault of a command's number: the host has seen this one, or later ones, already."""
GUEST_LOST = 410
"""Code of a fault that does not pass: the guest is no longer on its host."""
GUEST_KEPT = 412
"""Code of a fault of an operation that would replace the guest, and has left it as it was."""
GUEST_ASIDE = 424
"""Code of a fault of a rebuild whose former guest is kept on its host, but is not put back yet."""
UNASKED = 503
"""Code of a fault of a guest that is paused, or has crashed, without a request."""


@base.ArmillaryObjectRegistry.register
class InstanceFault(base.ArmillaryObject):
    """A failed attempt. ``message`` is for the user, ``details`` for administrators only."""

    instance_uuid: str = fields.UUIDField()
    attempt: int = fields.IntegerField(default=0)
    host: str | None = fields.StringField(nullable=True)
    code: int = fields.IntegerField(default=FAILED)
    message: str = fields.StringField()
    details: str | None = fields.StringField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
