"""The commands that disks in Ceph take, given to programs in the place of Ceph's.

``make libvirt`` has guests on a real cluster.
"""

import os
from pathlib import Path

import pytest

from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.rbd_storage import RbdStorage
from compute_agent.virt.libvirt.disks.storage import MIB, Role, Room
from compute_agent.virt.libvirt.domain.guest_disks import CephAccess, DiskKind

ACCESS = "--conf /etc/ceph/own.conf --id armillary"
UUID = "6695eb01-f6a4-4304-89aa-97f2502e1934"
MISSING = 'fail() { echo "error: (2) No such file or directory" >&2; exit 2; }\n'
RBD = f"""{MISSING}
shift 4; command=$1; shift
for last; do :; done
case $command in
    info) [ -e $pool/$last ] || fail; echo "{{\\"size\\": $(stat -c %s $pool/$last)}}" ;;
    rm) [ -e $pool/$last ] || fail; rm $pool/$last ;;
    import) stat -c %a $2 >$pool.mode; cp $2 $pool/$last ;;
    rename) mv $pool/$1 $pool/$last ;;
    status) echo '{{"watchers": [{{"address": "192.0.2.9:0/7", "cookie": 1}}]}}' ;;
    resize) truncate -s ${{3%B}} $pool/$last ;;
esac
"""
RADOS = f"""{MISSING}
shift 6
case $1 in
    get) [ -e $pool/$2 ] || fail; cat $pool/$2 ;;
    put) cat >$pool/$2 ;;
    rm) [ -e $pool/$2 ] || fail; rm $pool/$2 ;;
esac
"""
CEPH = """echo '{"pools": [{"name": "a", "stats": {}},
    {"name": "guests", "stats": {"max_avail": 3000, "stored": 1000}}]}'"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / UUID).mkdir()
    return tmp_path / UUID


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RbdStorage:
    (tmp_path / "pool/guests").mkdir(parents=True)
    for name, script in {"rbd": RBD, "rados": RADOS, "ceph": CEPH}.items():
        path = tmp_path / name
        front = f'pool={tmp_path}/pool\necho {name} "$@" >>{tmp_path}/log'
        path.write_text(f"#!/bin/sh\n{front}\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return RbdStorage("guests", CephAccess("/etc/ceph/own.conf", "armillary", UUID))


def test_a_disk_is_an_image_that_is_reached_as_configured(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """It is made in a file here first, of which nothing is left."""

    def fill(path: Path) -> None:
        path.write_bytes(b"swap")

    storage.make(directory, Role.SWAP, MIB, fill)
    disk = storage.find(directory, Role.SWAP)
    assert disk is not None
    name = f"guests/{UUID}_swap"
    assert (disk.path, disk.kind, storage.size(disk)) == (name, DiskKind.NETWORK, 4)
    assert storage.url(disk) == f"rbd:{name}:id=armillary:conf=/etc/ceph/own.conf"
    commands = (tmp_path / "log").read_text().splitlines()
    assert f"rbd {ACCESS} rename {name}.begun {name}" in commands
    assert all(line.startswith(f"rbd {ACCESS} ") for line in commands)
    assert list(directory.iterdir()) == []


def test_the_disks_of_a_guest_that_is_rebuilt_get_other_names(
    storage: RbdStorage, directory: Path
) -> None:
    """So does the note: without one beside its new disks, they are anybody's."""
    former = directory.with_name(f"{UUID}.former")
    storage.make(directory, Role.SWAP, MIB, lambda path: None)
    storage.write_note(directory, "mine")
    for _ in range(2):
        storage.rename(directory, former)
    assert (storage.find(directory, Role.SWAP), storage.read_note(directory)) == (None, None)
    disk = storage.find(former, Role.SWAP)
    assert disk is not None
    assert disk.path == f"guests/{UUID}.former_swap"
    storage.rename(former, directory)
    assert storage.find(directory, Role.SWAP) is not None
    assert storage.read_note(directory) == "mine"


def test_a_disk_grows_and_is_removed(storage: RbdStorage, directory: Path) -> None:
    storage.make(directory, Role.EPHEMERAL, MIB, lambda path: None)
    disk = storage.find(directory, Role.EPHEMERAL)
    assert disk is not None
    storage.grow(disk, 2 * MIB)
    assert storage.size(disk) == 2 * MIB
    for _ in range(2):
        storage.remove(directory, Role)
    assert storage.find(directory, Role.EPHEMERAL) is None
    with pytest.raises(DiskError, match="does not exist"):
        storage.size(disk)


def test_what_is_imported_is_for_no_other_account_to_read(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """A config drive has passwords, and others may pass through the directory."""
    before = os.umask(0)
    try:
        storage.make(directory, Role.CONFIG_DRIVE, MIB, lambda path: None)
    finally:
        os.umask(before)
    assert (tmp_path / "pool.mode").read_text() == "600\n"


def test_a_note_about_the_owner_is_in_the_pool(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """Where all hosts that reach the disks see it."""
    assert storage.read_note(directory) is None
    storage.write_note(directory, '{"owner": "a"}')
    assert storage.read_note(tmp_path / "elsewhere" / UUID) == '{"owner": "a"}'
    for _ in range(2):
        storage.remove_note(directory)
    assert storage.read_note(directory) is None


def test_a_client_that_has_a_disk_open_is_kept_from_writing(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """Its host is given up, and another one is to run the guest."""
    storage.make(directory, Role.ROOT, MIB, lambda path: None)
    disk = storage.find(directory, Role.ROOT)
    assert disk is not None
    storage.fence([disk])
    commands = (tmp_path / "log").read_text().splitlines()
    assert commands[-1] == f"ceph {ACCESS} osd blocklist add 192.0.2.9:0/7 86400"


def test_room_is_that_of_the_pool(storage: RbdStorage) -> None:
    assert storage.room(Path("/")) == Room(4000, 3000)


def test_a_pool_that_is_missing_is_named(storage: RbdStorage) -> None:
    other = RbdStorage("other", CephAccess("/etc/ceph/own.conf"))
    with pytest.raises(DiskError, match="images_rbd_pool is other: Ceph has no pool"):
        other.check()


def test_a_cluster_that_does_not_answer_has_not_lost_a_disk(
    storage: RbdStorage, directory: Path, tmp_path: Path
) -> None:
    """A disk that is taken for missing would be made again."""
    (tmp_path / "rbd").write_text("#!/bin/sh\necho '(110) Connection timed out' >&2\nexit 1\n")
    with pytest.raises(DiskError, match="Connection timed out"):
        storage.find(directory, Role.ROOT)
