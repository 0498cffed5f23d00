"""An image's data is what its format says."""

import subprocess
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks import image_formats
from compute_agent.virt.libvirt.disks.images import BadImage, ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from tests.fixtures.libvirt.libvirt_hosts import need_program, write_image

pytestmark = pytest.mark.libvirt


def made(path: Path, disk_format: str, *options: str) -> Path:
    program = need_program("qemu-img")
    command = [program, "create", "-q", "-f", disk_format, *options, str(path)]
    subprocess.run([*command, *(() if options else ("4M",))], check=True)
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


def test_a_missing_file_is_a_fault_of_this_host(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="no-file: No such file"):
        image_formats.check(ImageFile(tmp_path / "no-file", "raw"))
