"""ImageMeta: the image of an instance."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class ImageMeta(base.ArmillaryObject):
    """An image as scheduler and drivers see it.

    For the ``process`` driver an image names a program: ``properties["process_command"]`` is a
    command line in shell quoting, ``properties["process_environment"]`` a JSON object of strings,
    ``properties["process_restart"]`` its restart policy. For ``libvirt``
    ``properties["libvirt_disk_file"]`` names a file below ``[libvirt] images_path``.
    """

    VERSION = "1.0"

    fields = {
        "id": fields.UUIDField(),
        "name": fields.StringField(),
        "status": fields.StringField(default="active"),
        "disk_format": fields.StringField(nullable=True),
        "min_ram_mb": fields.IntegerField(default=0),
        "min_disk_gb": fields.IntegerField(default=0),
        "size_bytes": fields.IntegerField(default=0),
        "properties": fields.DictOfStringsField(default={}),
        "created_at": fields.DateTimeField(nullable=True),
        "updated_at": fields.DateTimeField(nullable=True),
    }

    id: str
    name: str
    status: str
    disk_format: str | None
    min_ram_mb: int
    min_disk_gb: int
    size_bytes: int
    properties: dict[str, str]
    created_at: datetime | None
    updated_at: datetime | None
