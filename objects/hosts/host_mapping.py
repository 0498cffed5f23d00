"""HostMapping: the cell of a host."""

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class HostMapping(base.ArmillaryObject):
    """The cell of a host, set by discovery; a host is in exactly one cell."""

    VERSION = "1.0"

    fields = {"host": fields.HostNameField(), "cell_uuid": fields.UUIDField()}

    host: str
    cell_uuid: str
