"""Evacuations by the driver, with disks that both hosts share, on libvirt's test driver."""

from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.file_storage import FileStorage
from compute_agent.virt.libvirt.driver import LibvirtDriver
from compute_agent.virt.libvirt.ownership import Ownership
from tests.fixtures.libvirt.libvirt_hosts import a_guest
from tests.unit.compute_agent.virt.libvirt.driver_hosts import (
    FAILED,
    MARK,
    disk_sizes,
    host,
    powers,
    sharing,
)

__all__ = ["host", "sharing"]

pytestmark = pytest.mark.libvirt


def test_an_evacuated_guest_has_its_shared_disks_again(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    """Also when the agent was killed in between; the former host removes none when it is back."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    disk = tmp_path / "instances" / guest.uuid / "disk.raw"
    with disk.open("r+b") as file:
        file.write(MARK)
    for _ in range(2):
        info = destination.recover(guest, ANYWHERE, former_host="host-1")
        assert info.power_state == "running"
    assert disk.read_bytes().startswith(MARK)
    source.destroy(guest.uuid)
    assert (powers(source), powers(destination)) == ({}, {guest.uuid: "running"})
    destination.destroy(guest.uuid)
    assert disk_sizes(tmp_path, guest) == {}


def test_an_evacuation_that_fails_gives_shared_disks_back(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the former host's, for the next attempt or its return."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    source.power_off(guest.uuid, grace_seconds=0)

    def broken(_domain: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(destination._guests, "start", broken)
    with pytest.raises(exception.BuildFailed, match="No space left"):
        destination.recover(guest, ANYWHERE, former_host="host-1")
    destination.destroy(guest.uuid)
    assert source.power_on(guest).power_state == "running"
    assert set(disk_sizes(tmp_path, guest)) == {"disk.raw"}
    source.destroy(guest.uuid)


def test_an_evacuated_guest_is_not_built_over_a_shared_disk_that_is_missing(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    """It would begin from its image without its data; its former host may have the file open."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    disk = tmp_path / "instances" / guest.uuid / "disk.raw"
    disk.unlink()
    with pytest.raises(exception.BuildFailed, match=f"missing in {disk.parent}, where host-1 had"):
        destination.recover(guest, ANYWHERE, former_host="host-1")
    assert (powers(source), powers(destination)) == ({guest.uuid: "running"}, {})


@pytest.mark.parametrize("done", ["nothing", "noted", "set aside", "no disk", "built"])
def test_a_server_whose_rebuild_its_host_did_not_survive_has_its_new_image_elsewhere(
    sharing: tuple[LibvirtDriver, LibvirtDriver],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: str,
) -> None:
    """Nothing is left of the former guest, whether or not the former host ever returns."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    (tmp_path / "instances" / guest.uuid / "disk.raw").write_bytes(MARK)
    files = source._guests.files(guest.uuid)
    if done == "noted":
        with monkeypatch.context() as patched:
            patched.setattr(FileStorage, "rename", _die)
            with pytest.raises(SystemExit):
                source.set_aside(guest.uuid)
    elif done != "nothing":
        source.set_aside(guest.uuid)
    if done == "no disk":
        files.make()
        files.write_note(Ownership(owner="host-1"))
    elif done == "built":
        source.spawn(guest)
    for _ in range(2):
        info = destination.recover(guest, ANYWHERE, former_host="host-1", is_rebuilt=True)
        assert info.power_state == "running"
    assert [path.name for path in (tmp_path / "instances").iterdir()] == [guest.uuid]
    assert not files.directory.joinpath("disk.raw").read_bytes().startswith(MARK)
    source.destroy(guest.uuid)
    assert (powers(source), powers(destination)) == ({}, {guest.uuid: "running"})
    destination.destroy(guest.uuid)
    assert list((tmp_path / "instances").iterdir()) == []


def _die(*_arguments: object) -> None:
    raise SystemExit


@pytest.mark.parametrize("built", [False, True], ids=["aside", "half-built"])
def test_a_guest_that_could_not_be_put_back_is_evacuated_with_its_disk(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path, *, built: bool
) -> None:
    """Its rebuild had failed, and its host died before the guest was started again."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    disk = tmp_path / "instances" / guest.uuid / "disk.raw"
    disk.write_bytes(MARK)
    source.set_aside(guest.uuid)
    if built:
        source.spawn(guest)
    for _ in range(2):
        destination.recover(guest, ANYWHERE, former_host="host-1")
    assert disk.read_bytes().startswith(MARK)
    source.destroy(guest.uuid)
    assert (powers(source), powers(destination)) == ({}, {guest.uuid: "running"})
    destination.destroy(guest.uuid)
    assert list((tmp_path / "instances").iterdir()) == []


def test_a_rebuild_that_is_begun_again_leaves_what_another_host_has_by_now(
    sharing: tuple[LibvirtDriver, LibvirtDriver], tmp_path: Path
) -> None:
    """The host was evacuated meanwhile, and its agent does not know that yet."""
    source, destination = sharing
    source.spawn(guest := a_guest())
    destination.recover(guest, ANYWHERE, former_host="host-1", is_rebuilt=True)
    with pytest.raises(FAILED, match="belong to the host host-2"):
        source.set_aside(guest.uuid)
    source.destroy(guest.uuid)
    assert powers(destination) == {guest.uuid: "running"}
    assert set(disk_sizes(tmp_path, guest)) == {"disk.raw"}
    destination.destroy(guest.uuid)


def test_an_evacuated_guest_is_built_again_where_nothing_is_shared(host: LibvirtDriver) -> None:
    guest = a_guest()
    assert host.recover(guest, ANYWHERE, former_host="gone").power_state == "running"


def test_an_evacuation_takes_disks_of_the_host_that_is_down_alone(
    sharing: tuple[LibvirtDriver, LibvirtDriver],
) -> None:
    first, second = sharing
    first.spawn(guest := a_guest())
    with pytest.raises(exception.BuildFailed, match="belongs to the host host-1"):
        second.recover(guest, ANYWHERE, former_host="host-3")
    first.destroy(guest.uuid)
