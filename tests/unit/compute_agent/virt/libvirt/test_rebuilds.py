"""Checks before a rebuild destroys a guest."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.images.glance import Glance
from compute_agent.virt.libvirt.disks import config_disks
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import (
    BOOT_SECTOR,
    IMAGE_NAME,
    a_guest,
    host_conf,
    make_host,
    need_program,
    write_image,
)
from tests.unit.compute_agent.virt.libvirt.driver_hosts import TEST, powers

pytestmark = pytest.mark.libvirt

GIB = 1024**3
FULL = shutil._ntuple_diskusage(9, 9, 0)


@pytest.fixture(params=["raw", "qcow2"])
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LibvirtDriver]:
    """Return a host that fetches images from a Glance."""
    if request.param == "qcow2":
        need_program("qemu-img")
    write_image(tmp_path / "images")
    conf = host_conf("host-1", tmp_path, **TEST, images_type=request.param)
    conf.set_override("auth_type", "none", group="glance")
    conf.set_override("endpoint_override", "http://127.0.0.1:9", group="glance")
    driver = make_host(conf)
    yield driver
    for guest in driver.list_guests():
        driver.destroy(guest.instance_uuid)
    driver.close()


def of_image(guest: Instance, **values: Any) -> Instance:
    image = builders.an_image(**{"disk_format": "raw", **values})
    return guest.with_values(image=image)


def of_file(guest: Instance, properties: dict[str, str], **values: Any) -> Instance:
    return of_image(guest, properties={FILE_PROPERTY: IMAGE_NAME, **properties}, **values)


def gone(_glance: Glance, image_id: str, *_args: object) -> Iterator[bytes]:
    raise exception.ImageNotFound(image=image_id)


Change = Callable[[Instance, Path], Instance]


def too_big(guest: Instance, images: Path) -> Instance:
    os.truncate(write_image(images), 2 * GIB)
    return of_file(guest, {})


def other_format(guest: Instance, images: Path) -> Instance:
    (images / IMAGE_NAME).write_bytes(b"QFI\xfb\0\0\0\3".ljust(4096, b"\0"))
    return of_file(guest, {})


CHANGES: dict[str, tuple[Change, str]] = {
    "gone": (lambda guest, _: of_image(guest), "Image .* could not be found"),
    "another image": (
        lambda guest, _: of_image(guest, size_bytes=7), "has 512 bytes|more than 7 bytes"
    ),
    "no file": (
        lambda guest, _: of_image(guest, properties={FILE_PROPERTY: "none"}), "No such file"
    ),
    "too big": (too_big, r"2147483648 bytes, but the flavor's root disk only 1 GiB"),
    "other format": (other_format, "disk format is raw, but its data is qcow2"),
    "unknown format": (lambda guest, _: of_file(guest, {}, disk_format="vmdk"), "format is vmdk"),
    "bus": (lambda guest, _: of_file(guest, {"hw_disk_bus": "ide"}), "hw_disk_bus is ide"),
    "architecture": (
        lambda guest, _: of_file(guest, {"hw_architecture": "sparc"}), "image's architecture"
    ),
    "firmware": (
        lambda guest, _: of_file(guest, {"hw_firmware_type": "uefi"}), "COMPUTE_FIRMWARE_UEFI"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_an_image_that_cannot_be_used_leaves_the_guest_alone(
    host: LibvirtDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The reason is said."""
    monkeypatch.setattr(
        Glance, "download", gone if name == "gone" else lambda *_: iter([BOOT_SECTOR])
    )
    host.spawn(guest := a_guest(flavor=builders.a_flavor(memory_mb=64, root_gb=1)))
    ran = host._guests.find(guest.uuid).ID()
    change, reason = CHANGES[name]
    with (
        pytest.raises((exception.BuildAborted, exception.BuildFailed), match=reason),
        host.ready_to_rebuild(change(guest, tmp_path / "images")),
    ):
        pass
    assert (powers(host), host._guests.find(guest.uuid).ID()) == ({guest.uuid: "running"}, ran)


def test_a_machine_type_that_the_host_lacks_is_found_before(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libvirt would refuse the new guest, when the old one is gone."""
    host.spawn(guest := a_guest())
    (kind, *_) = host._facts.kinds
    known = dataclasses.replace(kind, machines=frozenset({"pc"}))
    monkeypatch.setattr(host._facts, "kinds", [known])
    wanted = of_file(guest, {"hw_machine_type": "q36"})
    said = "does not have the machine type q36"
    with pytest.raises(exception.BuildFailed, match=said), host.ready_to_rebuild(wanted):
        pass
    with pytest.raises(exception.BuildFailed, match=said):
        host.spawn(of_file(a_guest(), {"hw_machine_type": "q36"}))


def test_a_config_drive_that_cannot_be_written_is_found_before(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.spawn(guest := a_guest())
    monkeypatch.setattr(config_disks, "program", lambda: None)
    wanted = of_file(guest, {"img_config_drive": "mandatory"})
    with (
        pytest.raises(exception.BuildFailed, match="needs a config drive, and this host has none"),
        host.ready_to_rebuild(wanted),
    ):
        pass


def test_the_new_disk_has_the_room_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no more if the file system is full; a copy would pause all guests."""
    images = tmp_path / "images"
    image = write_image(images)
    image.write_bytes(BOOT_SECTOR.ljust(2 * 1024**2, b"x"))
    larger = images / "larger.raw"
    larger.write_bytes(BOOT_SECTOR.ljust(4 * 1024**2, b"x"))
    host = make_host(host_conf("host-1", tmp_path, **TEST, images_type="raw"))
    host.spawn(guest := a_guest())
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: FULL)
    with host.ready_to_rebuild(guest):
        pass
    wanted = of_image(guest, properties={FILE_PROPERTY: larger.name})
    with (
        pytest.raises(exception.BuildFailed, match=r"takes up to 2 MiB, and .* has 0 MiB free"),
        host.ready_to_rebuild(wanted),
    ):
        pass
    assert powers(host) == {guest.uuid: "running"}
    host.destroy(guest.uuid)
    host.close()


def test_the_image_stays_on_the_host_until_the_new_guest_has_it(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may need the room meanwhile."""
    monkeypatch.setattr(Glance, "download", lambda *_: iter([BOOT_SECTOR]))
    host.spawn(guest := a_guest())
    wanted = of_image(guest)
    image = wanted.image
    assert image is not None
    with host.ready_to_rebuild(wanted):
        host.destroy(guest.uuid)
        assert host._guests.image_cache._held[image.id] == 1
        monkeypatch.setattr(Glance, "download", gone)
        host.spawn(wanted)
    assert host._guests.image_cache._held[image.id] == 0
    assert powers(host) == {guest.uuid: "running"}
