"""Guests that are rebuilt: put back as they were after any failure, or kill of the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.file_storage import FileStorage
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.driver import LibvirtDriver
from compute_agent.virt.libvirt.guests import Guests
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import (
    IMAGE_NAME,
    a_guest,
    host_conf,
    make_host,
    need_program,
    write_image,
)
from tests.unit.compute_agent.virt.libvirt.driver_hosts import MARK, TEST, powers

pytestmark = pytest.mark.libvirt


class Killed(BaseException):
    """The agent ends here."""


@pytest.fixture(params=["raw", "qcow2"])
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LibvirtDriver]:
    if request.param == "qcow2":
        need_program("qemu-img")
    write_image(tmp_path / "images")
    driver = make_host(host_conf("host-1", tmp_path, **TEST, images_type=request.param))
    yield driver
    for guest in driver.list_guests():
        driver.destroy(guest.instance_uuid)
    assert list((tmp_path / "instances").iterdir()) == []
    driver.close()


def spawned(host: LibvirtDriver, *, is_on: bool = True) -> Instance:
    """Build a guest, and have it write to its disk."""
    host.spawn(guest := a_guest(name="before"))
    (disk,) = host._guests.files(guest.uuid).directory.glob("disk.*")
    with disk.open("ab") as file:
        file.write(MARK)
    if not is_on:
        host.power_off(guest.uuid, grace_seconds=0)
    return guest


def another(guest: Instance) -> Instance:
    """Return the instance with what it is to be rebuilt with."""
    properties = {FILE_PROPERTY: IMAGE_NAME, "hw_disk_bus": "scsi"}
    image = builders.an_image("another", disk_format="raw", properties=properties)
    return guest.with_values(name="after", image=image)


def rebuild(host: LibvirtDriver, guest: Instance) -> None:
    with host.ready_to_rebuild(guest) as can_set_aside:
        assert can_set_aside
        host.set_aside(guest.uuid)
        host.spawn(guest)
        host.drop_aside(guest.uuid)


def is_former(host: LibvirtDriver, guest: Instance) -> tuple[bool, bool]:
    """Return whether disk and definition of a guest are those from before."""
    (disk,) = host._guests.files(guest.uuid).directory.glob("disk.*")
    definition = host._guests.find(guest.uuid).XMLDesc(0)
    return disk.read_bytes().endswith(MARK), 'bus="scsi"' not in definition.replace("'", '"')


def names(host: LibvirtDriver) -> list[str]:
    parent = Path(host._conf.libvirt.instances_path)
    return [path.name for path in parent.iterdir()]


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_guest_whose_new_one_cannot_start_is_put_back(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch, *, is_on: bool
) -> None:
    """With its data and definition, and started only if it ran."""
    guest = spawned(host, is_on=is_on)
    with monkeypatch.context() as patched:
        patched.setattr(Guests, "start", fail)
        with pytest.raises(exception.BuildFailed, match="it is broken"):
            rebuild(host, another(guest))
    assert host.put_back(another(guest), ANYWHERE) is is_on
    assert powers(host) == {guest.uuid: "running" if is_on else "shutdown"}
    assert is_former(host, guest) == (True, True)
    assert names(host) == [guest.uuid]
    assert host.put_back(another(guest), ANYWHERE) is None


def fail(*_arguments: object, **_named: object) -> Any:
    raise OSError("it is broken")


def test_a_rebuilt_guest_leaves_nothing_of_the_former_one(host: LibvirtDriver) -> None:
    guest = spawned(host)
    rebuild(host, another(guest))
    assert (powers(host), names(host)) == ({guest.uuid: "running"}, [guest.uuid])
    assert is_former(host, guest) == (False, False)


POINTS: dict[str, tuple[object, str]] = {
    "before it is stopped": (Guests, "forget"),
    "before its files are renamed": (FileStorage, "rename"),
    "before its disk is made": (InstanceFiles, "create_root"),
    "before it is defined": (Guests, "define"),
    "before it is started": (Guests, "start"),
    "before the former one is removed": (LibvirtDriver, "drop_aside"),
}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("then", ["again", "fails", "deleted"])
def test_an_agent_that_was_killed_in_a_rebuild_goes_on(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch, point: str, then: str
) -> None:
    """It rebuilds the guest, or has the former one where that fails, or removes all of it."""
    guest = spawned(host)
    with monkeypatch.context() as patched:
        patched.setattr(*POINTS[point], kill)
        with pytest.raises(Killed):
            rebuild(host, another(guest))
    assert set(powers(host)) == {guest.uuid}
    if then == "again":
        rebuild(host, another(guest))
        assert is_former(host, guest) == (False, False)
    elif then == "fails":
        with monkeypatch.context() as patched:
            patched.setattr(Guests, "define", fail)
            with pytest.raises(exception.BuildFailed):
                rebuild(host, another(guest))
        assert host.put_back(another(guest), ANYWHERE) is True
        assert is_former(host, guest) == (True, True)
    else:
        host.destroy(guest.uuid)
    assert powers(host) == ({} if then == "deleted" else {guest.uuid: "running"})
    assert names(host) == ([] if then == "deleted" else [guest.uuid])


def kill(*_arguments: object, **_named: object) -> Any:
    raise Killed


Step = Callable[[LibvirtDriver, Instance], object]
BACK: dict[str, tuple[object, str]] = {
    "before its files are renamed": (FileStorage, "rename"),
    "before it is started": (Guests, "start"),
}


@pytest.mark.parametrize("point", BACK)
def test_an_agent_that_was_killed_while_it_put_a_guest_back_goes_on(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """It tries the rebuild once more, and the guest is put back still."""
    guest = spawned(host)
    host.set_aside(guest.uuid)
    with monkeypatch.context() as patched:
        patched.setattr(*BACK[point], kill)
        with pytest.raises(Killed):
            host.put_back(guest, ANYWHERE)
    with monkeypatch.context() as patched:
        patched.setattr(Guests, "define", fail)
        with pytest.raises(exception.BuildFailed):
            rebuild(host, another(guest))
    assert host.put_back(another(guest), ANYWHERE) is True
    assert (powers(host), names(host)) == ({guest.uuid: "running"}, [guest.uuid])
    assert is_former(host, guest) == (True, True)


def test_the_image_of_a_former_guest_stays_on_the_host(host: LibvirtDriver) -> None:
    """An overlay refers to it, and may be needed again."""
    guest = spawned(host)
    before = host._guests._bases()
    host.set_aside(guest.uuid)
    assert host._guests._bases() == before
    host.put_back(guest, ANYWHERE)


@pytest.mark.parametrize("verb", ["power_on", "reboot", "rescue"])
@pytest.mark.parametrize("is_built", [True, False], ids=["built", "set aside"])
def test_a_guest_that_could_not_be_put_back_is_started_by_the_next_request(
    host: LibvirtDriver, *, verb: str, is_built: bool
) -> None:
    """With its data; what was built in its place and does not run is removed."""
    guest = spawned(host)
    host.set_aside(guest.uuid)
    if is_built:
        host._builder.build(another(guest), ANYWHERE).destroy()
    start(host, guest, verb)
    assert (powers(host), names(host)) == ({guest.uuid: "running"}, [guest.uuid])
    assert is_former(host, guest) == (True, True)
    assert host.put_back(guest, ANYWHERE) is None


def start(host: LibvirtDriver, guest: Instance, verb: str) -> None:
    if verb == "power_on":
        host.power_on(guest)
    elif verb == "reboot":
        host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    else:
        assert guest.image is not None
        host.rescue(guest, ANYWHERE, guest.image, grace_seconds=0)
        host.unrescue(guest, ANYWHERE)


def test_a_new_guest_that_runs_is_not_replaced_by_the_former_one(host: LibvirtDriver) -> None:
    """Its rebuild is not begun again, as the server was to be evacuated when its agent died."""
    guest = spawned(host)
    host.set_aside(guest.uuid)
    host.spawn(another(guest))
    host.reboot(another(guest), ANYWHERE, is_hard=True, grace_seconds=0)
    assert (powers(host), names(host)) == ({guest.uuid: "running"}, [guest.uuid])
    assert is_former(host, guest) == (False, False)
