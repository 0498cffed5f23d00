"""The commands that disks in logical volumes take, given to programs in the place of LVM's.

``make libvirt`` has guests on real volumes.
"""

import os
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks import block_devices, lvm_storage
from compute_agent.virt.libvirt.disks.lvm_storage import LvmStorage
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import MIB, Role, Room

GUEST = Path("/instances/6695eb01-f6a4-4304-89aa-97f2502e1934")
FRONT = GUEST.name
PROGRAMS = {
    "lvcreate": 'for last; do :; done; truncate -s "${7%b}" $dev/$last/$5',
    "lvrename": "mv $dev/$2/$3 $dev/$2/$4",
    "lvremove": "rm $dev/$3",
    "lvextend": 'truncate -s "${3%b}" $4',
    "vgs": """echo '{"report": [{"vg": [{"vg_size": "4096", "vg_free": "1024"}]}]}'""",
}


class Group:
    """A storage, the commands that it gave, and where zeros were written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.storage = LvmStorage("guests")
        self.zeroed: list[tuple[str, int]] = []

    def commands(self) -> list[str]:
        return (self._folder / "log").read_text().splitlines()

    def volumes(self) -> list[str]:
        return sorted(path.name for path in (self._folder / "guests").iterdir())


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    made = Group(tmp_path)
    (tmp_path / "guests").mkdir()
    for name, script in PROGRAMS.items():
        path = tmp_path / name
        log = f'dev={tmp_path}\necho {name} "$@" >>{tmp_path}/log'
        path.write_text(f"#!/bin/sh\nset -e\n{log}\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(lvm_storage, "DEVICES", tmp_path)
    monkeypatch.setattr(
        block_devices, "write_zeros", lambda path, start=0: made.zeroed.append((path.name, start))
    )
    return made


def test_a_disk_is_made_as_a_draft_without_what_was_there_before(group: Group) -> None:
    """It gets its name when it is complete."""
    seen: list[Path] = []
    group.storage.make(GUEST, Role.SWAP, MIB, seen.append)
    assert [path.name for path in seen] == [f"{FRONT}_swap.begun"]
    assert group.zeroed == [(f"{FRONT}_swap.begun", 0)]
    assert group.commands() == [
        f"lvcreate -q -y -Wn -n {FRONT}_swap.begun -L {MIB}b guests",
        f"lvrename -q guests {FRONT}_swap.begun {FRONT}_swap",
    ]
    assert group.volumes() == [f"{FRONT}_swap"]


def test_a_disk_that_grows_has_zeros_where_it_has_grown(group: Group) -> None:
    group.storage.make(GUEST, Role.ROOT, MIB, lambda _device: None)
    disk = group.storage.find(GUEST, Role.ROOT)
    assert disk is not None
    group.storage.grow(disk, 3 * MIB)
    assert group.commands()[-1] == f"lvextend -q -L {3 * MIB}b {disk.path}"
    assert group.zeroed[-1] == (f"{FRONT}_disk", MIB)
    assert group.storage.size(disk) == 3 * MIB


def test_disks_are_removed_with_their_drafts(group: Group, tmp_path: Path) -> None:
    """Also what an earlier attempt left; others' volumes stay."""
    for name in (f"{FRONT}_disk", f"{FRONT}_swap.begun", "others"):
        (tmp_path / "guests" / name).touch()
    group.storage.remove(GUEST, Role)
    assert group.volumes() == ["others"]
    assert group.storage.find(GUEST, Role.ROOT) is None


def test_a_draft_that_was_left_is_made_again(group: Group, tmp_path: Path) -> None:
    (tmp_path / "guests" / f"{FRONT}_swap.begun").touch()
    group.storage.make(GUEST, Role.SWAP, MIB, lambda _device: None)
    assert group.volumes() == [f"{FRONT}_swap"]


def test_room_is_that_of_the_group(group: Group) -> None:
    assert group.storage.room(Path("/")) == Room(4096, 1024)


def test_what_lvm_complains_of_is_passed_on(group: Group, tmp_path: Path) -> None:
    (tmp_path / "lvcreate").write_text("#!/bin/sh\necho insufficient free space >&2\nexit 5\n")
    with pytest.raises(DiskError, match="lvcreate: insufficient free space"):
        group.storage.make(GUEST, Role.SWAP, MIB, lambda _device: None)


def test_the_disks_of_a_guest_that_is_rebuilt_get_other_names(group: Group) -> None:
    """Those that have them already are left, as after a kill of the agent halfway."""
    former = GUEST.with_name(f"{FRONT}.former")
    for role in (Role.ROOT, Role.SWAP):
        group.storage.make(GUEST, role, MIB, lambda _device: None)
    group.storage.rename_disk(GUEST, former, Role.ROOT)
    group.storage.rename(GUEST, former)
    assert group.volumes() == [f"{FRONT}.former_disk", f"{FRONT}.former_swap"]
    group.storage.rename(former, GUEST)
    assert group.volumes() == [f"{FRONT}_disk", f"{FRONT}_swap"]
