"""Which file an image is."""

from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks import images
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY, BadImage, ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import UnsafeImage
from objects.images.image_meta import ImageMeta
from tests import builders


def an_image(file: str, disk_format: str | None = None) -> ImageMeta:
    return builders.an_image(disk_format=disk_format, properties={FILE_PROPERTY: file})


@pytest.mark.parametrize(
    "given", ["a b.raw", "{0}/a b.raw", "file://{0}/a%20b.raw", "file://localhost{0}/x/../a b.raw"]
)
def test_a_file_may_be_named_in_several_ways(tmp_path: Path, given: str) -> None:
    """Raw is what has no format: guessing would trust what is in it."""
    image = an_image(given.format(tmp_path))
    assert images.file_of(image, tmp_path) == ImageFile(tmp_path / "a b.raw", "raw")


@pytest.mark.parametrize("given", ["/etc/shadow", "../a.raw", "file:///etc/shadow", "link"])
def test_a_file_elsewhere_is_refused(tmp_path: Path, given: str) -> None:
    """A user who may make images may not read the host's files."""
    (tmp_path / "link").symlink_to("/etc/shadow")
    with pytest.raises(UnsafeImage, match="not below"):
        images.file_of(an_image(given), tmp_path)


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (None, "cannot attach a volume"),
        (builders.an_image(), "has no property"),
        (an_image("http://x/a.raw"), "expected a path"),
        (an_image("file://elsewhere/a.raw"), "expected a path"),
        (an_image("a\0b"), "zero byte"),
        (an_image("a", "vmdk"), "disk format is vmdk"),
    ],
    ids=["no-image", "no-file", "http", "other-host", "zero-byte", "vmdk"],
)
def test_what_no_host_can_use_is_refused(
    tmp_path: Path, image: ImageMeta | None, reason: str
) -> None:
    with pytest.raises(BadImage, match=reason):
        images.file_of(image, tmp_path)


def test_uploaded_data_is_found_under_the_image_s_id(tmp_path: Path) -> None:
    """Where the image service keeps it, if that is the agent's directory, too."""
    image = builders.an_image(disk_format="qcow2")
    (tmp_path / image.id).write_bytes(b"data")
    assert images.file_of(image, tmp_path) == images.ImageFile(tmp_path / image.id, "qcow2")
