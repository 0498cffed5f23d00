"""Upload of an image's data: a record at the image service, then the file."""

import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from armillary import exception
from programs.http_client import ApiClient, Document, Target

IMAGE_SERVICE = Target("image/v2")
DISK_FORMATS = ("raw", "qcow2", "iso", "vmdk", "vdi", "vhd", "vhdx", "ami", "ari", "aki")
_DETECTED = {"gpt": "raw", "raw": "raw"}


def upload(service: ApiClient, path: Path, record: Document, disk_format: str | None) -> str:
    """Create an image with the data of a file; return its id.

    ``disk_format`` None: the file's own. A record whose data does not arrive is deleted. Raises
    Invalid if the file cannot be read.
    """
    found = disk_format or detect_format(path)
    image_id = str(record.get("id") or uuid.uuid4())
    body = {
        "id": image_id,
        "name": record["name"],
        "min_ram": record["minRam"],
        "min_disk": record["minDisk"],
        "disk_format": found,
        "container_format": "bare",
        **_checked(record["properties"]),
    }
    with _opened(path) as file:
        service.post("images", body=body)
        try:
            service.upload("images", image_id, "file", data=file)
        except BaseException:
            with contextlib.suppress(exception.ArmillaryError):
                service.delete("images", image_id)
            raise
    return image_id


def detect_format(path: Path) -> str:
    """Return the disk format that a file has. Raises Invalid."""
    from oslo_utils.imageutils import format_inspector  # takes long to load

    with _opened(path):
        pass
    try:
        inspector = format_inspector.detect_file_format(str(path))
    except format_inspector.ImageFormatError as error:
        raise exception.Invalid(f"{path}: {error}; say which it is with --disk-format.") from error
    found = _DETECTED.get(str(inspector), str(inspector))
    if found not in DISK_FORMATS:
        raise exception.Invalid(
            f"{path} is {found}, and images cannot have that format: convert it, for example with "
            "qemu-img convert -O qcow2."
        )
    return found


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise exception.Invalid(f"{path} cannot be read: {error.strerror}.") from error


def _checked(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return properties, which the image service has beside its own fields. Raises Invalid."""
    own = {"id", "name", "disk_format", "container_format", "min_ram", "min_disk"}
    if taken := sorted(own & set(properties)):
        raise exception.Invalid(f"{taken[0]} is a field of images, not a property.")
    return properties
