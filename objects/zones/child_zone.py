"""ChildZone: a zone below this one, as configured in its parent."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class ChildZone(base.ArmillaryObject):
    """A child zone; ``name`` is its own ``[zones] name`` and its component in zone paths.

    ``transport_url`` is the child's broker, with the account that the child created for its parent.
    In the parent's lists its hosts weigh ``weight_offset`` + ``weight_scale`` times their weight.
    """

    uuid: str = fields.UUIDField()
    name: str = fields.StringField()
    transport_url: str = fields.StringField()
    disabled: bool = fields.BooleanField(default=False)
    weight_offset: float = fields.FloatField(default=0.0)
    weight_scale: float = fields.FloatField(default=1.0)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)
