"""Location of image files on this host."""

import dataclasses
import urllib.parse
from pathlib import Path

from compute_agent.virt.libvirt.disks import qemu_img
from compute_agent.virt.libvirt.disks.qemu_img import UnsafeImage
from objects.flavor import Flavor
from objects.images import guest_properties
from objects.images.image_meta import ImageMeta
from objects.images.image_record import IMAGE_TYPE, SHELVED

FILE_PROPERTY = guest_properties.DISK_FILE
FORMATS = ("raw", "qcow2")
GIB = 1024**3


class BadImage(ValueError):
    """An image cannot be used on any host; the message is the reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class ImageFile:
    """Path and format (raw or qcow2) of an image.

    ``is_temporary``: it is deleted once a guest was built from it, so no disk may refer to it.
    """

    path: Path
    format: str
    is_temporary: bool = False


def file_of(image: ImageMeta | None, directory: Path) -> ImageFile:
    """Return the file of an image below ``directory``; one that a property names may not exist.

    The property holds a ``file://`` URL, an absolute path or a path relative to the directory.
    Without it, it is the file that the image service stored there under the image's id. Raises
    BadImage, or UnsafeImage if the file is outside the directory.
    """
    given = "" if image is None else image.properties.get(FILE_PROPERTY, "")
    if image is not None and not given and (directory / image.id).is_file():
        given = image.id
    if image is None:
        raise BadImage("the server has no image; this driver cannot attach a volume to boot from")
    if not given:
        raise BadImage(
            f"the image has no property {FILE_PROPERTY}, and its data is not in {directory}"
        )
    disk_format = image.disk_format or "raw"
    if disk_format not in FORMATS:
        raise BadImage(f"the image's disk format is {disk_format}; allowed: {', '.join(FORMATS)}")
    path = (directory / _path(given)).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise UnsafeImage(f"{FILE_PROPERTY} is {given}, which is not below {directory}")
    return ImageFile(path, disk_format, image.properties.get(IMAGE_TYPE) == SHELVED)


def check_size(image: ImageFile, flavor: Flavor) -> None:
    """Raise BadImage for a disk that is larger than the flavor's; a flavor with 0 has any size.

    Raises DiskError, UnsafeImage.
    """
    size = qemu_img.virtual_size(image.path, image.format)
    if flavor.root_gb and size > flavor.root_gb * GIB:
        raise BadImage(
            f"the image's disk has {size} bytes, but the flavor's root disk only {flavor.root_gb} "
            "GiB"
        )


def _path(given: str) -> str:
    if "\0" in given:
        raise BadImage(f"{FILE_PROPERTY} contains a zero byte")
    if "://" not in given:
        return given
    url = urllib.parse.urlsplit(given)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise BadImage(f"{FILE_PROPERTY} is {given}; expected a path, or file:///path")
    return urllib.parse.unquote(url.path)
