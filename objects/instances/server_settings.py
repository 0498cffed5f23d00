"""ServerSettings: what a user says about a server that does not decide about its host."""

from objects import base, fields

DISK_CONFIG = "MANUAL"


@base.ArmillaryObjectRegistry.register
class ServerSettings(base.ArmillaryObject):
    """Values of the Compute API that are kept for a server and shown.

    ``user_data`` is in Base64. ``hostname`` None means that it follows from the name.
    """

    description: str | None = fields.StringField(nullable=True)
    tags: list[str] = fields.ListOfStringsField(default=[])
    key_name: str | None = fields.StringField(nullable=True)
    user_data: str | None = fields.StringField(nullable=True)
    access_ip_v4: str | None = fields.StringField(nullable=True)
    access_ip_v6: str | None = fields.StringField(nullable=True)
    hostname: str | None = fields.StringField(nullable=True)
    security_groups: list[str] = fields.ListOfStringsField(default=[])
    disk_config: str = fields.StringField(default=DISK_CONFIG)
