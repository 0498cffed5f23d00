"""ImageMeta: the image of an instance."""

from datetime import datetime

from objects import base, fields

PRIVATE_PROPERTIES = frozenset({"process_environment"})
"""Properties that often contain passwords, for the image's owner alone."""

PROGRAM_PROPERTIES = (
    "process_command", "process_environment", "process_restart", "libvirt_disk_file",
)  # fmt: skip
"""Properties that name what a host runs: programs and files of its own."""


@base.ArmillaryObjectRegistry.register
class ImageMeta(base.ArmillaryObject):
    """An image as scheduler and drivers see it.

    For the ``process`` driver an image names a program: ``properties["process_command"]`` is a
    command line in shell quoting, ``properties["process_environment"]`` a JSON object of strings,
    ``properties["process_restart"]`` its restart policy. For ``libvirt``
    ``properties["libvirt_disk_file"]`` names a file below ``[libvirt] images_path``. ``sha512`` is
    the digest of the stored data, as hexadecimal digits; None without data.
    """

    id: str = fields.UUIDField()
    name: str = fields.StringField()
    status: str = fields.StringField(default="active")
    disk_format: str | None = fields.StringField(nullable=True)
    min_ram_mb: int = fields.IntegerField(default=0)
    min_disk_gb: int = fields.IntegerField(default=0)
    size_bytes: int = fields.IntegerField(default=0)
    sha512: str | None = fields.StringField(nullable=True)
    properties: dict[str, str] = fields.DictOfStringsField(default={})
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)
