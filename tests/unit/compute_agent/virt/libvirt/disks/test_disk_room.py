"""Room for copies of disks: what one copy still needs is not another one's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks.disk_room import DiskRoom
from compute_agent.virt.libvirt.disks.qemu_img import DiskError

MIB = 1024**2
FREE = 10 * MIB


@pytest.fixture(autouse=True)
def free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a small file system, on which the files of the test's folder take room."""

    def usage(_path: Path) -> shutil._ntuple_diskusage:
        taken = sum(each.stat().st_size for each in tmp_path.iterdir())
        return shutil._ntuple_diskusage(FREE, taken, FREE - taken)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_copies_at_the_same_time_do_not_share_the_room(tmp_path: Path) -> None:
    """A user has two servers copied together: each alone would fit."""
    room = DiskRoom()
    first, second = [(tmp_path / "first", 6 * MIB)], [(tmp_path / "second", 6 * MIB)]
    with room.held(first), pytest.raises(DiskError, match="takes up to 6 MiB"), room.held(second):
        pass
    with room.held(second):
        pass


def test_what_a_copy_has_written_is_not_counted_twice(tmp_path: Path) -> None:
    """It is missing from what is free, and no longer still to come."""
    room = DiskRoom()
    with room.held([(tmp_path / "first", 6 * MIB)]):
        (tmp_path / "first").write_bytes(b"x" * 5 * MIB)
        with room.held([(tmp_path / "second", 3 * MIB)]):
            pass
        with pytest.raises(DiskError):
            room.check([(tmp_path, 4 * MIB)])
    room.check([(tmp_path, 4 * MIB)])


def test_guests_that_arrive_do_not_share_the_room(tmp_path: Path) -> None:
    """Another one fits once the first is there, or is not coming any more."""
    room = DiskRoom()
    first, second = [(tmp_path / "first", 6 * MIB)], [(tmp_path / "second", 6 * MIB)]
    room.keep("first", first)
    room.keep("first", first)  # its source asks again
    with pytest.raises(DiskError, match="takes up to 6 MiB"):
        room.keep("second", second)
    with pytest.raises(DiskError), room.held(second):
        pass
    room.release("first")
    room.keep("second", second)


def test_what_a_directory_has_received_is_not_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = DiskRoom()
    directory = tmp_path / "guest"
    directory.mkdir()
    with room.held([(directory, 6 * MIB)]):
        (directory / "disk.raw").write_bytes(b"x" * 5 * MIB)
        taken = shutil._ntuple_diskusage(FREE, 5 * MIB, 5 * MIB)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: taken)
        room.check([(tmp_path, 3 * MIB)])
        with pytest.raises(DiskError):
            room.check([(tmp_path, 4 * MIB)])
