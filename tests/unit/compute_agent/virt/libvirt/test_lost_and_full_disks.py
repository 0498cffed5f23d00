"""Disks that were removed under their guests, and file systems without room for a copy."""

import dataclasses
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.driver import LibvirtDriver
from compute_agent.virt.libvirt.moves.payloads import LiveSource
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import a_guest, host_conf, make_host, need_program
from tests.unit.compute_agent.virt.libvirt.driver_hosts import FAILED, TEST, changed, host, powers

__all__ = ["host"]

pytestmark = pytest.mark.libvirt


def image_of(guest: Instance) -> ImageMeta:
    assert guest.image is not None
    return guest.image


Operation = Callable[[LibvirtDriver, Instance], object]
OPERATIONS: dict[str, Operation] = {
    "stop": lambda host, guest: host.power_off(guest.uuid, grace_seconds=0),
    "reboot": lambda host, guest: host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0),
    "suspend": lambda host, guest: host.suspend(guest.uuid),
    "detach": lambda host, guest: host.detach(guest.uuid, grace_seconds=0),
    "resize": lambda host, guest: host.resize(changed(guest, memory_mb=80), ANYWHERE, is_on=True),
    "live migration": lambda host, guest: host.describe_live(guest.uuid),
    "rescue": lambda host, guest: host.rescue(guest, ANYWHERE, image_of(guest), grace_seconds=0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_guest_whose_disk_was_removed_is_not_ended(host: LibvirtDriver, name: str) -> None:
    """Its hypervisor is the last that has the data; what to do is said."""
    host.spawn(guest := a_guest())
    (disk,) = host._guests.files(guest.uuid).directory.glob("disk.*")
    disk.unlink()
    with pytest.raises(FAILED, match=f"its disk {disk} is missing.*rebuild or delete the server"):
        OPERATIONS[name](host, guest)
    assert powers(host) == {guest.uuid: "running"}
    host.destroy(guest.uuid)
    assert powers(host) == {}


def test_a_rescue_disk_that_was_removed_keeps_no_guest(host: LibvirtDriver) -> None:
    """Nothing on it is of use after the rescue."""
    host.spawn(guest := a_guest())
    host.rescue(guest, ANYWHERE, image_of(guest), grace_seconds=0)
    (disk,) = host._guests.files(guest.uuid).directory.glob("rescue.*")
    disk.unlink()
    ran = host._guests.find(guest.uuid).ID()
    host.unrescue(guest, ANYWHERE)
    assert powers(host) == {guest.uuid: "running"}
    assert host._guests.find(guest.uuid).ID() != ran  # from its own disk


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_snapshot_that_would_fill_the_file_system_is_refused(
    host: LibvirtDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on: bool
) -> None:
    """All guests of the host would be paused by then; nothing is left of the copy."""
    need_program("qemu-img")
    host.spawn(guest := a_guest())
    if not is_on:
        host.power_off(guest.uuid, grace_seconds=0)
    image = builders.an_image(disk_format="raw")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(9, 9, 0))
    with pytest.raises(FAILED, match=r"takes up to 1 MiB, and .* has 0 MiB free; make room"):
        host.snapshot(guest.uuid, image, tmp_path / "images" / "copy")
    assert not (tmp_path / "images" / "copy").exists()


def test_a_build_without_room_says_what_is_free(
    host: LibvirtDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is built elsewhere, and nothing of it is left here."""

    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "sendfile", full)
    said = r"No space left on device \(free: instances_path \d+ MiB, images_path \d+ MiB, "
    with pytest.raises(exception.BuildFailed, match=said):
        host.spawn(a_guest())
    assert list((tmp_path / "instances").iterdir()) == []


def test_room_for_a_guest_on_its_way_is_kept_by_the_next_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source goes on sending it; the room is free once it is not coming."""
    conf = host_conf("host-1", tmp_path, **TEST, images_type="raw")
    guest, size = a_guest(), 6 * 1024**2
    sent = LiveSource("host-2", None, None, None, "i686", "", "test", [], used_bytes=size)
    make_host(conf).prepare_live(guest, ANYWHERE, dataclasses.asdict(sent))
    host = make_host(conf)
    another = [(tmp_path / "instances" / "another", size)]
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(9, 9, 2 * size)
    )
    with pytest.raises(DiskError, match="takes up to 6 MiB"):
        host._guests.disk_room.check(another)
    host.destroy(guest.uuid)
    host._guests.disk_room.check(another)
    host.close()
