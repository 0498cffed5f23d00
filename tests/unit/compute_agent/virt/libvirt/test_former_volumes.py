"""Disks in Ceph of a guest whose host died in its rebuild, as the host sees them that evacuates it.

The note of the former host is on that host alone.
"""

import types
from pathlib import Path
from typing import cast

import pytest

from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.rbd_storage import RbdStorage
from compute_agent.virt.libvirt.disks.storage import MIB, Role
from compute_agent.virt.libvirt.former_guests import FormerGuests
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.ownership import Ownership
from tests.unit.compute_agent.virt.libvirt.disks.test_rbd_storage import UUID, directory, storage

__all__ = ["directory", "storage"]

DEAD = "dead"
DISKS = (Role.ROOT, Role.SWAP)


def make_disks(storage: RbdStorage, directory: Path, content: bytes) -> None:
    """Make the disks of a guest of the host that died."""

    def fill(path: Path) -> None:
        path.write_bytes(content)

    for role in DISKS:
        storage.make(directory, role, MIB, fill)
    storage.write_note(directory, Ownership(owner=DEAD).to_text())


def former_of(directory: Path) -> Path:
    return directory.with_name(f"{UUID}.former")


def former_guests(storage: RbdStorage, directory: Path) -> FormerGuests:
    """Return those of another host, which has no directory of the guest."""
    elsewhere = directory.parent / "elsewhere" / UUID
    guests = types.SimpleNamespace(
        host="other",
        files=lambda _uuid: InstanceFiles(elsewhere, storage),
        former_files=lambda _uuid: InstanceFiles(former_of(elsewhere), storage),
    )
    return FormerGuests(cast("Guests", guests))


def contents(tmp_path: Path) -> dict[str, bytes]:
    """Return the disks by their names without the server's."""
    found = (tmp_path / "pool/guests").glob("*")
    return {path.name.removeprefix(UUID): path.read_bytes() for path in found}


def rename(storage: RbdStorage, directory: Path, count: int) -> None:
    """Rename so many disks, and the note after all of them."""
    for role in DISKS[:count]:
        storage.rename_disk(directory, former_of(directory), role)
    if count > len(DISKS):
        storage.rename(directory, former_of(directory))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_disks_are_set_aside_wherever_their_host_died(
    storage: RbdStorage, directory: Path, tmp_path: Path, count: int
) -> None:
    """None of them is booted; the note goes with them, so that they are removed later."""
    make_disks(storage, directory, b"old")
    rename(storage, directory, count)
    for _ in range(2):
        former_guests(storage, directory).set_aside_of(UUID, DEAD)
    assert contents(tmp_path) == {".former_disk": b"old", ".former_swap": b"old"}
    assert storage.read_note(directory) is None
    assert Ownership.from_text(storage.read_note(former_of(directory))).owner == DEAD


def test_what_was_built_in_place_of_disks_is_removed(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    make_disks(storage, directory, b"old")
    rename(storage, directory, 3)
    make_disks(storage, directory, b"new")
    former_guests(storage, directory).set_aside_of(UUID, DEAD)
    assert contents(tmp_path) == {".former_disk": b"old", ".former_swap": b"old"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_disks_that_could_not_be_put_back_get_their_names_again(
    storage: RbdStorage, directory: Path, tmp_path: Path, count: int
) -> None:
    make_disks(storage, directory, b"old")
    rename(storage, directory, count)
    for _ in range(2):
        former_guests(storage, directory).take_back_of(UUID, DEAD)
    assert contents(tmp_path) == {"_disk": b"old", "_swap": b"old"}
    assert Ownership.from_text(storage.read_note(directory)).owner == DEAD


def test_one_of_two_disks_is_not_chosen_by_guessing(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """The new ones may be in use for long, and the former ones only not removed yet."""
    make_disks(storage, directory, b"old")
    rename(storage, directory, 3)
    make_disks(storage, directory, b"new")
    with pytest.raises(DiskError, match="remove those of one of both"):
        former_guests(storage, directory).take_back_of(UUID, DEAD)
    assert set(contents(tmp_path).values()) == {b"old", b"new"}


def test_disks_of_a_third_host_are_left_alone(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    make_disks(storage, directory, b"old")
    before = contents(tmp_path)
    former_guests(storage, directory).set_aside_of(UUID, "third")
    former_guests(storage, directory).take_back_of(UUID, "third")
    assert contents(tmp_path) == before
