"""Guests whose disks are logical volumes, on two hosts with a volume group each."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import a_guest, write_image
from tests.fixtures.libvirt.volume_devices import DEVICES
from tests.fixtures.libvirt.volume_groups import volume_groups
from tests.integration.libvirt.libvirt_daemons import NAMES
from tests.integration.libvirt.system_daemons import SystemDaemons
from tests.integration.libvirt.test_guests import Watch, states, wait_for_boots

pytestmark = [pytest.mark.libvirt, pytest.mark.long]

GROUP_MIB = 4096
MIB = 1024**2
GIB = 1024**3
MARK = b"written by the guest".ljust(512, b"\0")


class Hosts:
    """Two hosts and their groups."""

    def __init__(self, daemons: SystemDaemons, groups: dict[str, str]) -> None:
        self.groups = groups
        self.source, self.destination = (
            daemons.host(name, images_type="lvm", images_volume_group=groups[name])
            for name in NAMES
        )

    def volumes(self, name: str) -> dict[str, int]:
        """Return the volumes of a host's group with their sizes in MiB."""
        found = {}
        for path in (DEVICES / self.groups[name]).glob("*"):
            with path.open("rb") as device:
                found[path.name.partition("_")[2]] = device.seek(0, os.SEEK_END) // MIB
        return found

    def root(self, name: str, guest: Instance) -> Path:
        return DEVICES / self.groups[name] / f"{guest.uuid}_disk"


@pytest.fixture
def hosts(
    system_daemons: SystemDaemons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hosts]:
    write_image(system_daemons.directory / "images").chmod(0o644)
    with volume_groups(tmp_path / "lvm", len(NAMES), GROUP_MIB) as (groups, programs):
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        yield Hosts(system_daemons, dict(zip(NAMES, groups, strict=True)))
        system_daemons.clear()


def booted(host: LibvirtDriver, **sizes: Any) -> Instance:
    guest = a_guest(flavor=builders.a_flavor(memory_mb=64, **sizes))
    host.spawn(guest)
    wait_for_boots(host, guest)
    return guest


def test_a_guest_has_all_its_disks_in_the_group(hosts: Hosts) -> None:
    """They keep their content, grow with it, and are gone with the guest."""
    host = hosts.source
    before = host.get_resources()
    guest = booted(host, ephemeral_gb=1, swap_mb=16)
    assert hosts.volumes("a") == {"disk": 1024, "ephemeral": 1024, "swap": 16}
    after = host.get_resources()
    assert (before.disk_gb, after.disk_gb) == (3, 3)
    assert (before.disk_available_least, after.disk_available_least) == (3, 1)
    host.power_off(guest.uuid, grace_seconds=0)
    host.power_on(guest)
    wait_for_boots(host, guest, 2)
    host.destroy(guest.uuid)
    assert (states(host), hosts.volumes("a")) == ([], {})


def test_a_new_disk_has_nothing_of_the_one_before(hosts: Hosts) -> None:
    """The group's room was another guest's: behind the image there are zeros."""
    host = hosts.source
    former = booted(host)
    host.power_off(former.uuid, grace_seconds=0)
    write(hosts.root("a", former), GIB - MIB, MARK)
    host.destroy(former.uuid)
    later = booted(host)
    assert read(hosts.root("a", later), GIB - MIB) == bytes(len(MARK))
    larger = builders.an_instance(
        uuid=later.uuid, image=later.image, flavor=builders.a_flavor("l", memory_mb=64, root_gb=2)
    )
    host.resize(larger, ANYWHERE, is_on=True)
    wait_for_boots(host, later, 2)
    assert hosts.volumes("a") == {"disk": 2048}


def test_a_guest_is_rescued_from_a_volume(hosts: Hosts) -> None:
    """Which is gone afterwards; what the guest had on its own is still there."""
    host = hosts.source
    guest = booted(host)
    assert guest.image is not None
    write(hosts.root("a", guest), GIB - MIB, MARK)
    host.rescue(guest, ANYWHERE, guest.image, grace_seconds=0)
    wait_for_boots(host, guest, 2)
    assert hosts.volumes("a").keys() == {"disk", "rescue"}
    host.unrescue(guest, ANYWHERE)
    wait_for_boots(host, guest, 3)
    assert hosts.volumes("a") == {"disk": 1024}
    assert read(hosts.root("a", guest), GIB - MIB) == MARK


def test_a_snapshot_of_a_volume_boots(hosts: Hosts, system_daemons: SystemDaemons) -> None:
    """Made while the guest goes on, and from one that is off."""
    host = hosts.source
    guest = booted(host)
    for number in range(2):
        name = f"snapshot-{number}.qcow2"
        image = builders.an_image(disk_format="qcow2", properties={FILE_PROPERTY: name})
        path = system_daemons.directory / "images" / name
        host.snapshot(guest.uuid, image, path)
        path.chmod(0o644)
        host.spawn(other := builders.an_instance(image=image, flavor=guest.flavor))
        wait_for_boots(host, other)
        host.destroy(other.uuid)
        host.power_off(guest.uuid, grace_seconds=0)


@pytest.mark.parametrize("is_running", [False, True], ids=["off", "running"])
def test_a_guest_takes_its_volumes_along(hosts: Hosts, is_running: bool) -> None:
    """To the other host's group, where it has what it wrote; the source keeps nothing."""
    source, destination = hosts.source, hosts.destination
    guest = booted(source, swap_mb=16)
    write(hosts.root("a", guest), GIB - MIB, MARK)
    if is_running:
        there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
        source.live_migrate(guest, there, Watch())
        destination.complete_live(guest, ANYWHERE)
    else:
        payload = source.detach(guest.uuid, grace_seconds=0)
        destination.attach(guest, ANYWHERE, payload, is_on=True)
    source.destroy(guest.uuid)
    assert (hosts.volumes("a"), hosts.volumes("b")) == ({}, {"disk": 1024, "swap": 16})
    destination.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    wait_for_boots(destination, guest, 1 if is_running else 3)
    assert read(hosts.root("b", guest), GIB - MIB) == MARK


def test_a_group_that_is_missing_is_named(hosts: Hosts, system_daemons: SystemDaemons) -> None:
    with pytest.raises(exception.ConfigurationError, match=r"images_volume_group is none"):
        system_daemons.host("a", images_type="lvm", images_volume_group="none")


def write(device: Path, offset: int, data: bytes) -> None:
    with device.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def read(device: Path, offset: int) -> bytes:
    with device.open("rb") as file:
        file.seek(offset)
        return file.read(len(MARK))
