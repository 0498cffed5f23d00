"""The files of a guest."""

import os
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks.file_storage import RAW, FileStorage, copy_sparsely
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.instance_files import EARLIER_BYTES_MAX, InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import GIB, MIB
from compute_agent.virt.libvirt.ownership import Ownership
from tests import builders


@pytest.fixture
def image(tmp_path: Path) -> ImageFile:
    path = tmp_path / "image.raw"
    path.write_bytes(b"boot" * 1000)
    return ImageFile(path, RAW)


@pytest.fixture
def files(tmp_path: Path) -> InstanceFiles:
    made = InstanceFiles(tmp_path / "instances" / "uuid", FileStorage(RAW))
    made.make()
    return made


def sizes(files: InstanceFiles) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in files.directory.iterdir()}


def beginning(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)


def test_disks_are_as_large_as_the_flavor_says(files: InstanceFiles, image: ImageFile) -> None:
    """And in order: root, ephemeral, swap."""
    flavor = builders.a_flavor(root_gb=2, ephemeral_gb=1, swap_mb=64)
    files.create_root(image, flavor)
    files.create_extra(flavor)
    assert sizes(files) == {
        "disk.raw": 2 * GIB, "ephemeral.raw": GIB, "swap.raw": 64 * MIB,
    }  # fmt: skip
    names = [Path(disk.path).name for disk in files.disks(flavor)]
    assert names == ["disk.raw", "ephemeral.raw", "swap.raw"]
    assert beginning(files.directory / "disk.raw", 4000) == image.path.read_bytes()


@pytest.mark.parametrize("umask", [0, 0o077])
def test_disks_are_not_for_other_accounts_to_read(
    umask: int, files: InstanceFiles, image: ImageFile
) -> None:
    """Only the hypervisor's user, whom libvirt gives the disks, may pass the directory besides."""
    flavor = builders.a_flavor(root_gb=1, swap_mb=1)
    before = os.umask(umask)
    try:
        files.make()
        files.create_root(image, flavor)
        files.create_extra(flavor)
        files.write_note(Ownership(owner="host1"))
    finally:
        os.umask(before)
    assert files.directory.stat().st_mode & 0o777 == 0o711
    assert {path.stat().st_mode & 0o777 for path in files.directory.iterdir()} == {0o600}


def test_no_root_disk_means_as_large_as_the_image(files: InstanceFiles, image: ImageFile) -> None:
    files.create_root(image, builders.a_flavor(root_gb=0))
    assert sizes(files) == {"disk.raw": 4000}


def test_a_disk_that_is_there_is_kept(files: InstanceFiles, image: ImageFile) -> None:
    """A build that is done again destroys nothing."""
    flavor = builders.a_flavor(swap_mb=1)
    for _ in range(2):
        files.create_root(image, flavor)
        files.create_extra(flavor)
        for name in ("disk.raw", "swap.raw"):
            with (files.directory / name).open("r+b") as file:
                file.write(b"mine")
        image.path.write_bytes(b"other")
    assert beginning(files.directory / "disk.raw", 4) == b"mine"
    assert beginning(files.directory / "swap.raw", 4) == b"mine"


def test_disks_grow_and_only_swap_shrinks(files: InstanceFiles, image: ImageFile) -> None:
    """Swap is made again; an area as large as it should be is left alone."""
    files.create_root(image, builders.a_flavor(root_gb=1))
    files.fit(builders.a_flavor(root_gb=3, swap_mb=2))
    files.fit(builders.a_flavor(root_gb=1, swap_mb=1))
    assert sizes(files) == {"disk.raw": 3 * GIB, "swap.raw": MIB}
    before = (files.directory / "swap.raw").stat().st_ino
    files.fit(builders.a_flavor(root_gb=1, swap_mb=1))
    assert (files.directory / "swap.raw").stat().st_ino == before


def test_an_image_that_is_not_here_leaves_nothing(files: InstanceFiles) -> None:
    with pytest.raises(DiskError, match=r"gone\.raw"):
        files.create_root(ImageFile(Path("/gone.raw"), RAW), builders.a_flavor())
    assert sizes(files) == {}
    with pytest.raises(DiskError, match="root disk is missing"):
        files.disks(builders.a_flavor())


@pytest.mark.parametrize(
    ("lines", "expected"), [(None, "a\nb\nc\n"), (2, "b\nc\n"), (0, ""), (9, "a\nb\nc\n")], ids=str
)
def test_the_end_of_a_console(files: InstanceFiles, lines: int | None, expected: str) -> None:
    files.console.write_text("a\nb\nc\n")
    assert files.last_console_lines(lines) == expected


def test_a_console_may_be_empty_or_strange(files: InstanceFiles) -> None:
    assert files.last_console_lines(None) == ""
    files.console.write_bytes(b"\xff\n")
    assert files.last_console_lines(None) == "\ufffd\n"


def test_holes_are_not_written_down(tmp_path: Path) -> None:
    """Neither in the middle nor at the end, and all data are there."""
    source, copied = tmp_path / "a", tmp_path / "b"
    with source.open("wb") as file:
        for offset in (0, 8 * MIB):
            os.pwrite(file.fileno(), b"data" * 2048, offset)
        file.truncate(16 * MIB)
    copy_sparsely(source, copied)
    assert copied.read_bytes() == source.read_bytes()
    assert copied.stat().st_blocks <= source.stat().st_blocks


@pytest.mark.parametrize("size", [0, 5000, 3 * MIB], ids=["empty", "small", "large"])
def test_what_was_there_is_replaced(tmp_path: Path, size: int) -> None:
    source, copied = tmp_path / "a", tmp_path / "b"
    source.write_bytes(os.urandom(size))
    copied.write_bytes(b"x" * 9000)
    copy_sparsely(source, copied)
    assert copied.read_bytes() == source.read_bytes()


def test_disks_may_grow_by_what_is_not_written_yet(files: InstanceFiles) -> None:
    """Of sparse files that is their holes, of a qcow2 file its disk's size, less what it takes."""
    assert files.growth_bytes() == 0
    os.truncate(_written(files.directory / "ephemeral.raw", b"x" * MIB), 64 * MIB)
    assert 62 * MIB <= files.growth_bytes() <= 63 * MIB
    header = b"QFI\xfb" + bytes(20) + (2 * GIB).to_bytes(8)
    _written(files.directory / "disk.qcow2", header)
    assert 2 * GIB + 61 * MIB <= files.growth_bytes() <= 2 * GIB + 63 * MIB


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_further_disks_can_be_used_immediately(files: InstanceFiles) -> None:
    """The ephemeral disk has a file system, swap is made, each under its label."""
    files.create_extra(builders.a_flavor(ephemeral_gb=1, swap_mb=64))
    with (files.directory / "ephemeral.raw").open("rb") as file:
        header = file.read(2048)
    assert (header[1080:1082], header[1144:1154]) == (b"\x53\xef", b"ephemeral0")
    swap = beginning(files.directory / "swap.raw", 4096)
    assert (swap[4086:], swap[1052:1057]) == (b"SWAPSPACE2", b"swap0")


def test_an_ephemeral_disk_that_grows_keeps_its_content(files: InstanceFiles) -> None:
    """Swap is made again in its new size: nothing is kept there while a guest is off."""
    files.create_extra(builders.a_flavor(ephemeral_gb=1, swap_mb=64))
    before = beginning(files.directory / "ephemeral.raw", 4096)
    pages = beginning(files.directory / "swap.raw", 4096)[1028:1032]
    files.create_extra(builders.a_flavor(ephemeral_gb=2, swap_mb=128))
    assert beginning(files.directory / "ephemeral.raw", 4096) == before
    assert beginning(files.directory / "swap.raw", 4096)[1028:1032] != pages


def test_a_console_begins_with_what_was_written_elsewhere(files: InstanceFiles) -> None:
    """Its end is kept where there was too much."""
    fetched = files.directory / "fetched"
    fetched.write_bytes(b"x" * EARLIER_BYTES_MAX + b"there\n")
    files.keep_earlier_console([fetched, files.directory / "missing"])
    files.console.write_text("here\n")
    text = files.last_console_lines(None)
    assert (len(text), text[-11:]) == (EARLIER_BYTES_MAX + 5, "there\nhere\n")
    assert not fetched.exists()


def test_a_config_drive_is_written_once(files: InstanceFiles) -> None:
    """A repeated build finds the password on it, which is not kept elsewhere; no draft is left."""
    files.create_config_drive(lambda: b"opensesame")
    files.create_config_drive(lambda: b"other")
    assert (files.directory / "config-drive.raw").read_bytes() == b"opensesame"
    assert list(sizes(files)) == ["config-drive.raw"]
    assert (files.directory / "config-drive.raw").stat().st_mode & 0o777 == 0o600
