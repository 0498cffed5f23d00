"""An image's data is what its format says."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks import image_formats, images
from compute_agent.virt.libvirt.disks.images import BadImage, ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from tests.builders import a_flavor, an_image
from tests.fixtures.libvirt.libvirt_hosts import need_program, write_image

pytestmark = pytest.mark.libvirt


def made(path: Path, disk_format: str, *options: str) -> Path:
    program = need_program("qemu-img")
    command = [program, "create", "-q", "-f", disk_format, *options, str(path), "4M"]
    subprocess.run(command, check=True)
    return path


def test_a_bootable_disk_is_raw(tmp_path: Path) -> None:
    image_formats.check(ImageFile(write_image(tmp_path), "raw"))


def test_a_qcow2_file_is_qcow2(tmp_path: Path) -> None:
    image_formats.check(ImageFile(made(tmp_path / "a", "qcow2"), "qcow2"))


@pytest.mark.parametrize("disk_format", ["qcow2", "vmdk", "vdi", "vhdx"])
def test_a_raw_image_that_holds_another_format_is_refused(tmp_path: Path, disk_format: str) -> None:
    """A guest would find no system on it."""
    path = made(tmp_path / "a", disk_format)
    with pytest.raises(BadImage, match=f"format is raw, but its data is {disk_format}"):
        image_formats.check(ImageFile(path, "raw"))


def test_a_false_qcow2_is_refused_for_all_hosts(tmp_path: Path) -> None:
    with pytest.raises(BadImage, match="format is qcow2, but its data is gpt"):
        image_formats.check(ImageFile(write_image(tmp_path), "qcow2"))


def test_an_image_that_refers_to_another_file_is_unsafe(tmp_path: Path) -> None:
    base = write_image(tmp_path)
    path = made(tmp_path / "a", "qcow2", "-b", str(base), "-F", "raw")
    with pytest.raises(BadImage, match="unsafe"):
        image_formats.check(ImageFile(path, "qcow2"))


SECRET = ("--object", "secret,id=key,data=x")
ENCRYPTED = ("-o", "encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=10")
DESCRIPTOR = """# Disk DescriptorFile
version=1
CID=12345678
parentCID=ffffffff
createType="monolithicFlat"
RW 8192 FLAT "/etc/shadow" 0
"""


def a_qcow2(folder: Path, *options: str) -> Path:
    return made(folder / "image", "qcow2", *options)


def edited(path: Path, **at: bytes) -> Path:
    """Return a file with some bytes at ``b<offset>``."""
    with path.open("r+b") as file:
        for place, data in at.items():
            file.seek(int(place.removeprefix("b")))
            file.write(data)
    return path


def with_base(folder: Path, name: str) -> Path:
    """Return a qcow2 file whose header names a backing file, which is not looked at."""
    place = {"b8": (512).to_bytes(8), "b16": len(name).to_bytes(4), "b512": name.encode()}
    return edited(a_qcow2(folder), **place)


def cut(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def written(folder: Path, text: str) -> Path:
    (folder / "image").write_text(text)
    return folder / "image"


HOSTILE: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "a file of the host behind it": ("qcow2", lambda to: with_base(to, "/etc/shadow")),
    "a program of QEMU behind it": (
        "qcow2",
        lambda to: with_base(to, 'json:{"driver":"raw","file.filename":"/etc/shadow"}'),
    ),
    "a server behind it": ("qcow2", lambda to: with_base(to, "nbd://127.0.0.1:1/x")),
    "data in another file": (
        "qcow2", lambda to: a_qcow2(to, "-o", f"data_file={to}/data,data_file_raw=on"),
    ),
    "unknown features": ("qcow2", lambda to: edited(a_qcow2(to), b72=b"\xff" * 8)),
    "another version": ("qcow2", lambda to: edited(a_qcow2(to), b4=(9).to_bytes(4))),
    "a size of exbibytes": ("qcow2", lambda to: edited(a_qcow2(to), b24=(2**62).to_bytes(8))),
    "tables beyond its end": (
        "qcow2", lambda to: edited(a_qcow2(to), b36=b"\x7f\xff\xff\xff", b40=b"\x7f" * 8),
    ),
    "a header alone": ("qcow2", lambda to: cut(a_qcow2(to), 72)),
    "four bytes": ("qcow2", lambda to: cut(a_qcow2(to), 4)),
    "nothing": ("qcow2", lambda to: cut(a_qcow2(to), 0)),
    "extents on the host": ("raw", lambda to: written(to, DESCRIPTOR)),
    "extents on the host, declared": ("vmdk", lambda to: written(to, DESCRIPTOR)),
    "extents on the host, as qcow2": ("qcow2", lambda to: written(to, DESCRIPTOR)),
    "an encrypted disk": (
        "raw",
        lambda to: made(to / "image", "luks", *SECRET, "-o", "key-secret=key,iter-time=10"),
    ),
    "an encrypted qcow2 file": ("qcow2", lambda to: a_qcow2(to, *SECRET, *ENCRYPTED)),
}  # fmt: skip
"""Images as any user can upload them: their declared format, and what makes the file."""


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_image_is_refused_by_the_host(what: str, tmp_path: Path) -> None:
    """Before QEMU opens it as a disk; the build is not tried on other hosts."""
    disk_format, make = HOSTILE[what]
    path = make(tmp_path)
    record = an_image(disk_format=disk_format, properties={images.FILE_PROPERTY: path.name})
    flavor = a_flavor(root_gb=1)
    with pytest.raises((BadImage, DiskError)):
        use(record, tmp_path, flavor)


def use(record: ImageMeta, folder: Path, flavor: Flavor) -> None:
    """Look at an image as the driver does before it makes a guest's disk of it."""
    image = images.file_of(record, folder)
    image_formats.check(image)
    images.check_size(image, flavor)


def test_a_missing_file_is_a_fault_of_this_host(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="no-file: No such file"):
        image_formats.check(ImageFile(tmp_path / "no-file", "raw"))
