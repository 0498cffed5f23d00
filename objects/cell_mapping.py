"""CellMapping: a cell, which is a shard of the deployment with its own broker and database."""

from objects import base, fields

CELL0_UUID = "00000000-0000-0000-0000-000000000000"


@base.ArmillaryObjectRegistry.register
class CellMapping(base.ArmillaryObject):
    """A cell and how to reach it. ``transport_url`` contains a secret: never log it."""

    uuid: str = fields.UUIDField()
    name: str = fields.StringField()
    transport_url: str = fields.StringField()
    disabled: bool = fields.BooleanField(default=False)
