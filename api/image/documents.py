"""Images as the image service shows them, and as clients set them."""

from dataclasses import replace
from datetime import datetime

from api.formats import times
from api.image.schemas import READ_ONLY, SETTABLE
from armillary.http.call import Document
from objects.images.image_record import ACTIVE, QUEUED, ImageRecord

HASH_ALGORITHM = "sha512"
COMMAND, DISK_FILE, HYPERVISOR_TYPE = "process_command", "libvirt_disk_file", "img_hv_type"
_WITHOUT_DATA = ("process", "simulated")
_OWN = frozenset({"id", *SETTABLE, *READ_ONLY})


def shown(record: ImageRecord) -> Document:
    """Return an image; properties are fields beside its own."""
    image = record.image
    has_data = record.sha512 is not None
    path = f"/v2/images/{image.id}"
    return {
        **{name: value for name, value in image.properties.items() if name not in _OWN},
        "id": image.id,
        "name": image.name or None,
        "status": image.status,
        "visibility": record.visibility,
        "protected": record.is_protected,
        "os_hidden": record.is_hidden,
        "owner": record.owner,
        "disk_format": image.disk_format,
        "container_format": record.container_format,
        "min_disk": image.min_disk_gb,
        "min_ram": image.min_ram_mb,
        "tags": record.tags,
        "size": image.size_bytes if image.status != QUEUED else None,
        "virtual_size": record.virtual_size_bytes,
        "checksum": record.checksum,
        "os_hash_algo": HASH_ALGORITHM if has_data else None,
        "os_hash_value": record.sha512,
        "created_at": _time(image.created_at),
        "updated_at": _time(image.updated_at or image.created_at),
        "self": path,
        "file": f"{path}/file",
        "schema": "/v2/schemas/image",
    }


def values_of(record: ImageRecord) -> Document:
    """Return what clients may set of an image: its fields and properties."""
    document = shown(record)
    return {**record.image.properties, **{name: document[name] for name in SETTABLE}}


def with_values(record: ImageRecord, values: Document) -> ImageRecord:
    """Return an image with values that match the schema; absent fields get their defaults.

    An image that needs no data is active immediately.
    """
    properties = {name: value for name, value in values.items() if name not in SETTABLE}
    status = record.image.status
    if status == QUEUED and needs_no_data(properties):
        status = ACTIVE
    image = record.image.with_values(
        name=values.get("name") or "",
        status=status,
        disk_format=values.get("disk_format"),
        min_ram_mb=values.get("min_ram", 0),
        min_disk_gb=values.get("min_disk", 0),
        properties=properties,
    )
    return replace(
        record,
        image=image,
        owner=values.get("owner", record.owner),
        visibility=values.get("visibility", record.visibility),
        is_protected=values.get("protected", False),
        is_hidden=values.get("os_hidden", False),
        container_format=values.get("container_format"),
        tags=list(dict.fromkeys(values.get("tags", ()))),
    )


def needs_no_data(properties: dict[str, str]) -> bool:
    """Return whether properties say all that a host needs: a program, a file there, or nothing."""
    if COMMAND in properties or DISK_FILE in properties:
        return True
    return properties.get(HYPERVISOR_TYPE) in _WITHOUT_DATA


def _time(moment: datetime | None) -> str | None:
    return times.seconds(moment)
