"""Guests whose disks were removed under them, and hosts whose file system is full."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.asking import wait_for
from tests.fixtures.libvirt.libvirt_hosts import IMAGE_NAME, a_guest, need_program
from tests.fixtures.services import leave_out
from tests.integration.libvirt.libvirt_daemons import NOBODY, Daemons
from tests.integration.libvirt.test_guests import (
    Watch,
    booted,
    console,
    states,
    wait_for_boots,
    wait_until_it_goes_on,
)

pytestmark = pytest.mark.libvirt

MIB = 1024**2
SECONDS_MAX = 60
SMALL_MIB = 16
SPARE_BYTES = 64 * 1024
"""Enough for a note, and not for the header of a disk."""
WRITER_NAME, WRITER_MIB = "writer.raw", 48
# Real mode, at 0000:7c00: write 32 KiB after the other to the disk by the BIOS, and a dot to the
# serial port for each; at the disk's end write an exclamation mark, and halt.
_WRITER = bytes.fromhex(
    "31c0 8ed8"  # xor ax,ax; mov ds,ax
    "b80043 b280 be277c cd13 720e"  # mov ax,0x4300; mov dl,0x80; mov si,0x7c27; int 0x13; jc end
    "6683062f7c40 b02e baf803 ee ebe6"  # add dword [0x7c2f],0x40; mov al,'.'; out 0x3f8; jmp
    "b021 baf803 ee f4 ebfd"  # end: mov al,'!'; mov dx,0x3f8; out dx,al; hlt; jmp hlt
    "1000 4000 0000 0010 4000000000000000"  # 64 sectors, from 1000:0000 to sector 64
)
WRITER = _WRITER.ljust(510, b"\0") + b"\x55\xaa"


@contextlib.contextmanager
def as_root() -> Iterator[None]:
    """Do what follows as who runs the tests."""
    user = os.geteuid()
    os.seteuid(os.getuid())
    try:
        yield
    finally:
        os.seteuid(user)


def mount(*arguments: str) -> None:
    """Run mount as root, or leave the running test out."""
    with as_root():
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        leave_out("libvirt", f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small(daemons: Daemons) -> Iterator[Path]:
    """Return a file system with little room, which guests may be in."""
    path = daemons.directory / "small"
    path.mkdir()
    owner = f"uid={NOBODY},gid={NOBODY}" if os.getuid() == 0 else f"uid={os.getuid()}"
    mount("-t", "tmpfs", "-o", f"size={SMALL_MIB}m,mode=0711,{owner}", "tmpfs", str(path))
    yield path
    daemons.clear()
    with as_root():
        subprocess.run(["umount", "--lazy", str(path)], check=True)
    path.rmdir()


def write_writer(daemons: Daemons) -> None:
    path = daemons.directory / "images" / WRITER_NAME
    path.write_bytes(WRITER)
    os.truncate(path, WRITER_MIB * MIB)


def a_writer() -> Instance:
    return a_guest(
        flavor=builders.a_flavor(memory_mb=64, root_gb=0), properties={FILE_PROPERTY: WRITER_NAME}
    )


def is_paused(host: LibvirtDriver) -> bool:
    (guest,) = host.list_guests()
    return guest.power_state == "paused" and "may be full" in str(guest.reason)


@pytest.mark.parametrize("images_type", ["raw", pytest.param("qcow2", marks=pytest.mark.long)])
def test_a_disk_that_was_removed_is_written_again(daemons: Daemons, images_type: str) -> None:
    """By the hypervisor of the running guest, which is not ended before that."""
    virsh = need_program("virsh")
    host = daemons.host("a", images_type=images_type)
    guest = booted(host)
    path = Path(host._guests.files(guest.uuid).need_root().path)
    path.unlink()
    with pytest.raises(exception.OperationFailed, match=f"its disk {path} is missing"):
        host.power_off(guest.uuid, grace_seconds=0)
    wait_until_it_goes_on(host, guest)
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    command = [
        virsh, "--connect", host._conf.libvirt.connection_uri, "blockcopy",
        f"instance-{guest.uuid}", "vda", str(path), "--format", images_type,
        "--transient-job", "--wait", "--pivot",
    ]  # fmt: skip
    with as_root():
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            **(user if os.getuid() == 0 else {}),
        )
    assert done.returncode == 0, done.stderr
    wait_until_it_goes_on(host, guest)
    assert host.power_off(guest.uuid, grace_seconds=0).power_state == "shutdown"
    host.power_on(guest)
    wait_for_boots(host, guest, 2)


def test_a_guest_that_a_full_disk_paused_goes_on_when_there_is_room(
    daemons: Daemons, small: Path
) -> None:
    """It says why it is paused, and is so again as long as there is none; nothing is lost."""
    write_writer(daemons)
    host = daemons.host("a", instances_path=str(small))
    host.spawn(guest := a_writer())
    wait_for(lambda: is_paused(host), "the guest is paused", SECONDS_MAX)
    host.unpause(guest.uuid)
    wait_for(lambda: is_paused(host), "the guest is paused again", SECONDS_MAX)
    mount("-o", f"remount,size={2 * WRITER_MIB}m", str(small))
    host.unpause(guest.uuid)
    wait_for(lambda: console(host, guest).endswith("!"), "its disk is written", SECONDS_MAX)
    assert states(host) == [("running", False)]


def test_a_build_without_room_leaves_nothing(daemons: Daemons, small: Path) -> None:
    """And says what is free, before it begins; the next host gets the build."""
    host = daemons.host("a", instances_path=str(small), images_path=str(daemons.directory / "full"))
    large = daemons.directory / "full" / IMAGE_NAME
    large.parent.mkdir(exist_ok=True)
    large.write_bytes(b"x" * (SMALL_MIB + 4) * MIB)
    with pytest.raises(exception.BuildFailed, match=r"takes up to \d+ MiB, .* MiB free"):
        host.spawn(a_guest(flavor=builders.a_flavor(memory_mb=64, root_gb=0)))
    assert (states(host), list(small.iterdir())) == ([], [])


def test_a_guest_whose_new_disk_has_no_room_is_put_back(daemons: Daemons, small: Path) -> None:
    """It boots again from the disk that it had, and nothing of the new one is left."""
    host = daemons.host("a", images_type="qcow2", instances_path=str(small))
    guest = booted(host)
    fill(small, SMALL_MIB)
    os.truncate(small / "filler", (small / "filler").stat().st_size - SPARE_BYTES)
    with host.ready_to_rebuild(guest) as can_set_aside:
        assert can_set_aside
        host.set_aside(guest.uuid)
        with pytest.raises(exception.BuildFailed, match="No space left on device"):
            host.spawn(guest)
    assert host.put_back(guest, ANYWHERE) is True
    assert sorted(path.name for path in small.iterdir()) == sorted(["filler", guest.uuid])
    (small / "filler").unlink()
    host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    wait_until_it_goes_on(host, guest)
    assert states(host) == [("running", False)]


Begin = Callable[[LibvirtDriver, LibvirtDriver, Instance], object]


def begin_live(source: LibvirtDriver, destination: LibvirtDriver, guest: Instance) -> object:
    return destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))


def begin_cold(source: LibvirtDriver, destination: LibvirtDriver, guest: Instance) -> object:
    payload = source.detach(guest.uuid, grace_seconds=0)
    return destination.attach(guest, ANYWHERE, payload, is_on=True)


@pytest.mark.parametrize(
    "begin", [begin_live, pytest.param(begin_cold, marks=pytest.mark.long)], ids=["live", "cold"]
)
def test_a_move_to_a_host_without_room_is_refused(
    daemons: Daemons, small: Path, begin: Begin
) -> None:
    """Before anything is copied, with what it takes and what there is."""
    source, destination = daemons.host("a"), daemons.host("b", instances_path=str(small))
    guest = booted(source)
    fill(small, SMALL_MIB - 1)
    said = r"takes up to \d MiB, and .* has 1 MiB free; make room"
    with pytest.raises(exception.OperationFailed, match=said):
        begin(source, destination, guest)
    assert (states(destination), [path.name for path in small.iterdir()]) == ([], ["filler"])
    source.power_on(guest)
    wait_until_it_goes_on(source, guest)


def test_a_live_migration_whose_destination_fills_up_fails(daemons: Daemons, small: Path) -> None:
    """And the guest stays where it is; what was copied is removed."""
    source, destination = daemons.host("a"), daemons.host("b", instances_path=str(small))
    guest = booted(source)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    fill(small, SMALL_MIB)
    with pytest.raises(exception.OperationFailed):
        source.live_migrate(guest, there, Watch())
    destination.destroy(guest.uuid)
    assert [path.name for path in small.iterdir()] == ["filler"]
    assert (states(source), states(destination)) == ([("running", False)], [])
    wait_until_it_goes_on(source, guest)


def fill(directory: Path, mib: int) -> None:
    """Use this many MiB, or what there is."""
    with contextlib.suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        for _ in range(mib * 16):
            file.write(bytes(MIB // 16))
