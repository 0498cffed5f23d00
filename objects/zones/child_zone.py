"""ChildZone: a zone below this one, as configured in its parent."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class ChildZone(base.ArmillaryObject):
    """A child zone; ``name`` is its own ``[zones] name`` and its component in zone paths.

    ``transport_url`` is the child's broker, with the account that the child created for its parent.
    """

    VERSION = "1.0"

    fields = {
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "transport_url": fields.StringField(),
        "disabled": fields.BooleanField(default=False),
        "created_at": fields.DateTimeField(nullable=True),
        "updated_at": fields.DateTimeField(nullable=True),
    }

    uuid: str
    name: str
    transport_url: str
    disabled: bool
    created_at: datetime | None
    updated_at: datetime | None
