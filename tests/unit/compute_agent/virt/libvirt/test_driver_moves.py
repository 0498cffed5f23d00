"""Resizes, moves, evacuations and shelving by the driver, on libvirt's test driver."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instances.instance_command import NEEDS_SOURCE
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import (
    a_guest,
    host_conf,
    make_host,
    need_program,
    write_image,
)
from tests.unit.compute_agent.virt.libvirt.driver_hosts import (
    FAILED,
    OTHERS,
    TEST,
    changed,
    disk_sizes,
    host,
    powers,
    sharing,
)

__all__ = ["host", "sharing"]

pytestmark = pytest.mark.libvirt


def test_a_resize_changes_sizes_and_can_be_taken_back(host: LibvirtDriver, tmp_path: Path) -> None:
    """The disk stays as large as it became."""
    host.spawn(guest := a_guest())
    larger = changed(guest, vcpus=2, memory_mb=128, root_gb=2)
    for _ in range(2):
        assert host.resize(larger, ANYWHERE, is_on=True).power_state == "running"
        assert host._guests.find(guest.uuid).info()[3] == 2
    assert host.resize(guest, ANYWHERE, is_on=False).power_state == "shutdown"
    assert host._guests.find(guest.uuid).maxMemory() == 64 * 1024
    assert disk_sizes(tmp_path, guest) == {"disk.raw": 2 * 1024**3}


def test_a_resize_that_is_done_stops_nothing(host: LibvirtDriver) -> None:
    host.spawn(guest := a_guest())
    host.resize(larger := changed(guest, memory_mb=128), ANYWHERE, is_on=True)
    before = host._guests.find(guest.uuid).ID()
    host.resize(larger, ANYWHERE, is_on=True)
    assert host._guests.find(guest.uuid).ID() == before


def test_a_disk_cannot_shrink(host: LibvirtDriver) -> None:
    """And the guest runs on."""
    host.spawn(guest := a_guest(flavor=builders.a_flavor(memory_mb=64, root_gb=2)))
    with pytest.raises(FAILED, match="cannot shrink to 1 GiB"):
        host.resize(changed(guest, root_gb=1), ANYWHERE, is_on=True)
    assert powers(host) == {guest.uuid: "running"}


def test_an_ephemeral_disk_shrinks_only_to_take_a_resize_back(host: LibvirtDriver) -> None:
    """Placement would say less than the host holds; a flavor without one has it removed."""
    sizes: dict[str, Any] = {"memory_mb": 64, "root_gb": 1}
    host.spawn(guest := a_guest(flavor=builders.a_flavor(**sizes, ephemeral_gb=2)))
    smaller = changed(guest, **sizes, ephemeral_gb=1)
    with pytest.raises(FAILED, match="ephemeral disk has 2 GiB and cannot shrink to 1 GiB"):
        host.resize(smaller, ANYWHERE, is_on=True)
    larger = changed(guest, **sizes, ephemeral_gb=3)
    host.resize(larger, ANYWHERE, is_on=True)
    host.resize(guest, ANYWHERE, is_on=True)
    payload = host.detach(guest.uuid, grace_seconds=0)
    with pytest.raises(FAILED, match="ephemeral disk has 2 GiB"):
        host.attach(smaller, ANYWHERE, payload, is_on=True)
    without = changed(guest, **sizes)
    host.resize(without, ANYWHERE, is_on=True)
    host.settle(without)
    host.resize(smaller, ANYWHERE, is_on=True)
    assert powers(host) == {guest.uuid: "running"}


@pytest.mark.parametrize("is_on", [True, False], ids=["running", "off"])
def test_a_resize_that_is_confirmed_cannot_be_taken_back(
    host: LibvirtDriver, tmp_path: Path, is_on: bool
) -> None:
    """The disk cannot be smaller than what placement says; what only the former size had goes."""
    former = a_guest(flavor=builders.a_flavor(memory_mb=64, root_gb=1, ephemeral_gb=1, swap_mb=8))
    host.spawn(former)
    host.resize(larger := changed(former, root_gb=2, swap_mb=8), ANYWHERE, is_on=is_on)
    for _ in range(2):
        host.settle(larger)
    assert disk_sizes(tmp_path, former) == {"disk.raw": 2 * 1024**3, "swap.raw": 8 * 1024**2}
    with pytest.raises(FAILED, match="cannot shrink to 1 GiB"):
        host.resize(former, ANYWHERE, is_on=is_on)
    assert host.resize(larger, ANYWHERE, is_on=True).power_state == "running"


def test_a_missing_guest_needs_no_confirmation(host: LibvirtDriver) -> None:
    host.settle(a_guest())


def test_a_detached_guest_is_on_its_way_until_it_stays(host: LibvirtDriver) -> None:
    """It did not end, though it is off."""
    host.spawn(guest := a_guest())
    migration_payload = host.detach(guest.uuid, grace_seconds=0)
    assert json.loads(json.dumps(migration_payload)) == migration_payload
    assert [(info.power_state, info.is_moving) for info in host.list_guests()] == [
        ("shutdown", True)
    ]
    host.power_on(guest)
    assert not host.list_guests()[0].is_moving


def test_a_guest_may_be_attached_where_it_was(host: LibvirtDriver) -> None:
    """Twice, and with another flavor."""
    host.spawn(guest := a_guest())
    migration_payload = host.detach(guest.uuid, grace_seconds=0)
    larger = changed(guest, memory_mb=128)
    for _ in range(2):
        info = host.attach(larger, ANYWHERE, migration_payload, is_on=True)
        assert (info.power_state, info.is_moving) == ("running", False)
    assert host._guests.find(guest.uuid).maxMemory() == 128 * 1024


def test_a_guest_that_is_off_stays_off_when_attached(host: LibvirtDriver) -> None:
    host.spawn(guest := a_guest())
    migration_payload = host.detach(guest.uuid, grace_seconds=0)
    assert host.attach(guest, ANYWHERE, migration_payload, is_on=False).power_state == "shutdown"


def test_shared_files_go_to_the_new_host(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    """Nothing is copied; the source leaves them alone when it lets go."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    migration_payload = source.detach(guest.uuid, grace_seconds=0)
    assert powers(destination) == {}
    for _ in range(2):
        destination.attach(guest, ANYWHERE, migration_payload, is_on=True)
    source.destroy(guest.uuid)
    assert (powers(source), powers(destination)) == ({}, {guest.uuid: "running"})
    assert set(disk_sizes(tmp_path, guest)) == {"disk.raw"}
    destination.destroy(guest.uuid)
    assert disk_sizes(tmp_path, guest) == {}


def test_shared_files_go_back_when_a_move_is_taken_back(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    source, destination = sharing
    source.spawn(guest := a_guest())
    migration_payload = source.detach(guest.uuid, grace_seconds=0)
    destination.attach(guest, ANYWHERE, migration_payload, is_on=True)
    destination.destroy(guest.uuid)
    assert source.power_on(guest).power_state == "running"
    assert (powers(source), powers(destination)) == ({guest.uuid: "running"}, {})
    source.destroy(guest.uuid)
    assert disk_sizes(tmp_path, guest) == {}


def test_a_build_takes_no_files_of_another_host(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    """And leaves them where they are."""
    first, second = sharing
    first.spawn(guest := a_guest())
    with pytest.raises(exception.BuildFailed, match="belongs to the host host-1"):
        second.spawn(guest)
    assert set(disk_sizes(tmp_path, guest)) == {"disk.raw"}
    first.destroy(guest.uuid)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"directory": "/var/lib/other"}, "the directory of another guest"),
        ({"files": ["../x.raw"]}, "invalid name"),
        ({"address": "x/?command=/bin/sh"}, "not a valid host address"),
        ({"base": {"name": "../x", "format": "raw", "bytes": 1}}, "not a valid image file"),
        ({"base": {"name": "x", "format": "raw", "bytes": 1}}, "backing file x"),
        ({"base": {"name": OTHERS, "format": "raw", "bytes": 1}}, "not the server's"),
        ({"base": {"name": f"./x/../{OTHERS}", "format": "raw", "bytes": 1}}, "not the server's"),
    ],
    ids=["directory", "file", "address", "base", "missing", "others-image", "by-another-name"],
)
def test_a_source_cannot_have_us_take_what_it_likes(
    host: LibvirtDriver, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    """Nothing is left of it here."""
    guest = a_guest()
    (tmp_path / "images" / OTHERS).write_bytes(b"x")
    migration_payload = {
        "host": "host-2", "address": "192.0.2.8", "directory": f"/i/{guest.uuid}", "token": "t",
        "root_gb": 1, "root_gb_least": 1, "files": ["disk.raw"], "base": None, **changes,
    }  # fmt: skip
    with pytest.raises(FAILED, match=reason):
        host.attach(guest, ANYWHERE, migration_payload, is_on=True)
    assert list((tmp_path / "instances").iterdir()) == []


@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_the_disk_of_a_shelved_guest_comes_back_from_its_image(
    tmp_path: Path, images_type: str
) -> None:
    """Its host keeps nothing, and the new disk does not need the image, which is deleted then."""
    need_program("qemu-img")
    write_image(tmp_path / "images")
    host = make_host(host_conf("host-1", tmp_path, **TEST, images_type=images_type))
    host.spawn(guest := a_guest())
    root = Path(host._guests.files(guest.uuid).root.path)  # type: ignore[union-attr]
    written = b"written by the guest".ljust(512, b"\0")
    write_sector(root, images_type, written)
    payload = host.detach(guest.uuid, grace_seconds=0)
    assert payload[NEEDS_SOURCE] is True
    properties = {"image_type": "shelved", "instance_uuid": guest.uuid}
    image = builders.an_image(disk_format="qcow2", properties=properties)
    host.snapshot(guest.uuid, image, tmp_path / "images" / image.id)
    host.destroy(guest.uuid)
    assert list((tmp_path / "instances").iterdir()) == []
    host.spawn(guest.with_values(image=image))
    (tmp_path / "images" / image.id).unlink()
    assert read_sector(root, images_type) == written
    host.destroy(guest.uuid)
    host.close()


def write_sector(disk: Path, disk_format: str, data: bytes) -> None:
    """Write to the second MiB of a disk, as a guest would."""
    (data_file := disk.with_name("data")).write_bytes(data)
    run_qemu_io(disk, disk_format, f"write -s {data_file} 1M {len(data)}")
    data_file.unlink()


def read_sector(disk: Path, disk_format: str) -> bytes:
    raw = disk.with_name("copy.raw")
    program = need_program("qemu-img")
    subprocess.run([program, "convert", "-f", disk_format, "-O", "raw", disk, raw], check=True)
    with raw.open("rb") as file:
        file.seek(1024**2)
        found = file.read(512)
    raw.unlink()
    return found


def run_qemu_io(disk: Path, disk_format: str, command: str) -> None:
    program = need_program("qemu-io")
    subprocess.run(
        [program, "-f", disk_format, "-c", command, disk], check=True, capture_output=True
    )
