"""Comparison of an image's file with the disk format that its record names.

A hypervisor that reads a disk in another format than its own runs a guest that finds nothing, or a
file that the author of the image chose.
"""

from oslo_utils.imageutils import format_inspector
from oslo_utils.imageutils.format_inspector import (
    FileInspector,
    ImageFormatError,
    SafetyCheckFailed,
)

from compute_agent.virt.libvirt.disks.images import BadImage, ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError

_CHUNK_BYTES = 65536
_RAW = frozenset({"raw", "gpt", "iso"})
"""Contents of a raw disk as detected: anything, a partition table, a CD's file system."""


def check(image: ImageFile) -> None:
    """Raise BadImage unless a file is what its format says and refers to no other file.

    Raises DiskError if it cannot be read.
    """
    try:
        found = {str(each): each for each in _formats(image)}
    except OSError as error:
        raise DiskError(f"{image.path.name}: {error.strerror}") from error
    expected = _RAW if image.format == "raw" else frozenset({image.format})
    if others := sorted(set(found) - expected):
        raise BadImage(
            f"the image's disk format is {image.format}, but its data is {' and '.join(others)}; "
            "upload it again with the right disk_format"
        )
    if image.format in found:
        _check_safety(found[image.format])


def _formats(image: ImageFile) -> list[FileInspector]:
    with image.path.open("rb") as file:
        wrapper = format_inspector.InspectWrapper(file)
        try:
            while (found := wrapper.formats) is None and wrapper.read(_CHUNK_BYTES):
                pass
        finally:
            wrapper.close()
        return found or wrapper.formats or []


def _check_safety(inspector: FileInspector) -> None:
    try:
        inspector.safety_check()
    except (ImageFormatError, SafetyCheckFailed) as error:
        raise BadImage(f"the image is unsafe: {error}") from error
