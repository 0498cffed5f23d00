"""Images in the form of an external image service: Glance's documents."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import timeutils

from objects.images.image_meta import ImageMeta
from objects.images.image_record import ACTIVE, DEACTIVATED, QUEUED, SAVING, ImageRecord

FIELDS = frozenset({
    "id", "name", "status", "visibility", "protected", "os_hidden", "owner", "disk_format",
    "container_format", "min_disk", "min_ram", "tags", "size", "virtual_size", "checksum",
    "os_hash_algo", "os_hash_value", "created_at", "updated_at", "self", "file", "schema",
    "direct_url", "locations", "stores", "metadata", "members",
})  # fmt: skip
"""Fields of a document; all others are properties of the image."""
PROGRAM_PREFIX, DISK_FILE = "process_", "libvirt_disk_file"
"""Properties that name programs and files of hosts. Any user may set them there, so none counts."""
_HASH_ALGORITHM = "sha512"
_STATUSES = {ACTIVE: ACTIVE, DEACTIVATED: DEACTIVATED, QUEUED: QUEUED}

Document = Mapping[str, Any]


def record_of(document: Document, members: Mapping[str, str]) -> ImageRecord:
    """Return an image as our records have it; one without usable data is not active."""
    has_digest = document.get("os_hash_algo") == _HASH_ALGORITHM
    digest = document.get("os_hash_value") if has_digest else None
    image = ImageMeta.from_values(
        id=document["id"],
        name=document.get("name") or "",
        status=_STATUSES.get(document["status"], SAVING),
        disk_format=document.get("disk_format"),
        min_ram_mb=document.get("min_ram") or 0,
        min_disk_gb=document.get("min_disk") or 0,
        size_bytes=document.get("size") or 0,
        sha512=digest,
        properties=properties_of(document),
    )
    return ImageRecord(
        image,
        owner=document.get("owner"),
        visibility=document["visibility"],
        is_hidden=bool(document.get("os_hidden")),
        container_format=document.get("container_format"),
        checksum=document.get("checksum"),
        sha512=digest,
        virtual_size_bytes=document.get("virtual_size"),
        tags=list(document.get("tags") or ()),
        members=dict(members),
    )


def properties_of(document: Document) -> dict[str, str]:
    """Return the properties that count: texts, and none that names a program or file of hosts."""
    return {
        name: value
        for name, value in document.items()
        if name not in FIELDS and isinstance(value, str) and not is_of_hosts(name)
    }


def is_of_hosts(name: str) -> bool:
    """Return whether a property names a program or a file of hosts."""
    return name == DISK_FILE or name.startswith(PROGRAM_PREFIX)


def times_of(document: Document) -> dict[str, Any]:
    """Return when an image was created and changed, as our records have it."""
    return {
        name: timeutils.parse_isotime(document[name])
        for name in ("created_at", "updated_at")
        if document.get(name)
    }


def new_document(record: ImageRecord) -> dict[str, Any]:
    """Return what creates an image whose data is stored later."""
    image = record.image
    return {
        **{name: value for name, value in image.properties.items() if name not in FIELDS},
        "id": image.id,
        "name": image.name,
        "owner": record.owner,
        "visibility": record.visibility,
        "disk_format": image.disk_format or "raw",
        "container_format": record.container_format or "bare",
        "min_ram": image.min_ram_mb,
        "min_disk": image.min_disk_gb,
    }
