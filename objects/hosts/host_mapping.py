"""HostMapping: the cell of a host."""

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class HostMapping(base.ArmillaryObject):
    """The cell of a host, set by discovery; a host is in exactly one cell."""

    host: str = fields.HostNameField()
    cell_uuid: str = fields.UUIDField()
