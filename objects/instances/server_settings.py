"""ServerSettings: what a user says about a server that does not decide about its host."""

from typing import Self

from objects import base, fields

DISK_CONFIG = "MANUAL"


@base.ArmillaryObjectRegistry.register
class ServerSettings(base.ArmillaryObject):
    """Values of the Compute API that are kept for a server, shown, or given to its workload.

    ``user_data`` is in Base64. ``hostname`` None means that it follows from the name.
    ``public_key`` is the text of the key pair ``key_name``, of ``key_kind`` (ssh or x509), as it
    was when the server was created. ``files`` maps paths in the guest to contents in Base64.
    ``admin_password`` is forgotten as soon as the guest has it. ``root_volume`` is the id of the
    volume that the server boots from.
    """

    VERSION = "1.0"

    description: str | None = fields.StringField(nullable=True)
    tags: list[str] = fields.ListOfStringsField(default=[])
    key_name: str | None = fields.StringField(nullable=True)
    user_data: str | None = fields.StringField(nullable=True)
    access_ip_v4: str | None = fields.StringField(nullable=True)
    access_ip_v6: str | None = fields.StringField(nullable=True)
    hostname: str | None = fields.StringField(nullable=True)
    security_groups: list[str] = fields.ListOfStringsField(default=[])
    disk_config: str = fields.StringField(default=DISK_CONFIG)
    config_drive: bool = fields.BooleanField(default=False)
    public_key: str | None = fields.StringField(nullable=True)
    key_kind: str | None = fields.StringField(nullable=True)
    files: dict[str, str] = fields.DictOfStringsField(default={})
    admin_password: str | None = fields.StringField(nullable=True)
    root_volume: str | None = fields.StringField(nullable=True)

    @property
    def is_for_guest(self) -> bool:
        """Whether there is something that the guest has to be given."""
        return bool(
            self.config_drive
            or self.user_data
            or self.public_key
            or self.files
            or self.admin_password
        )

    def without_password(self) -> Self:
        """Return the settings as they are kept once the guest has its password."""
        return self.with_values(admin_password=None)

    def without_files(self) -> Self:
        """Return the settings as lists of servers need them: nothing that is only for a guest."""
        if not (self.admin_password or self.files or self.public_key):
            return self
        return self.with_values(admin_password=None, files={}, public_key=None)
