"""Guests that are rescued: they boot from an image's disk, have their own behind it, and return."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.driver import RUNNING, SHUTDOWN
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import a_guest, host_conf, make_host, write_image

pytestmark = pytest.mark.libvirt

FAILED = exception.OperationFailed
RESCUE_MIB = 2


class Rescued:
    """A host on libvirt's test driver with a guest, and an image to rescue it with."""

    def __init__(self, directory: Path) -> None:
        self._images = directory / "images"
        write_image(self._images)
        write_image(self._images, RESCUE_MIB * 1024**2).rename(self._images / "rescue.raw")
        write_image(self._images)
        self.conf = host_conf(
            "host-1", directory, connection_uri="test:///default", virt_type="test"
        )
        self.host = make_host(self.conf)
        self.image = self.an_image("rescue.raw")
        self.guest: Instance = a_guest()
        self.host.spawn(self.guest)
        self.directory = directory / "instances" / self.guest.uuid

    @staticmethod
    def an_image(name: str) -> ImageMeta:
        return builders.an_image(disk_format="raw", properties={FILE_PROPERTY: name})

    def restart(self) -> LibvirtDriver:
        """Start the agent again, which remembers nothing."""
        former, self.host = self.host, make_host(self.conf)
        former.close()
        return self.host

    def rescue(self, image: ImageMeta | None = None) -> str:
        """Rescue the guest; return its power state."""
        return self.host.rescue(
            self.guest, ANYWHERE, image or self.image, grace_seconds=0
        ).power_state

    @property
    def power(self) -> str:
        (guest,) = self.host.list_guests()
        return guest.power_state

    @property
    def disks(self) -> list[str]:
        """The disks that libvirt has attached, that to boot from first."""
        domain = self.host._guests.find(self.guest.uuid)
        found = xml_text.parse(domain.XMLDesc(0)).iterfind("devices/disk/source")
        return [Path(source.get("file", "")).name for source in found]


@pytest.fixture
def rescued(tmp_path: Path) -> Iterator[Rescued]:
    made = Rescued(tmp_path)
    yield made
    made.host.destroy(made.guest.uuid)
    made.host.close()


def test_a_guest_boots_from_the_image_and_has_its_own_disk(rescued: Rescued) -> None:
    """Until it is itself again; nothing is left of the rescue then."""
    (rescued.directory / "disk.raw").write_bytes(b"its data")
    assert rescued.rescue() == RUNNING
    assert rescued.disks == ["rescue.raw", "disk.raw"]
    assert (rescued.directory / "rescue.raw").stat().st_size == RESCUE_MIB * 1024**2
    assert rescued.host.unrescue(rescued.guest, ANYWHERE).power_state == RUNNING
    assert rescued.disks == ["disk.raw"]
    assert (rescued.directory / "disk.raw").read_bytes() == b"its data"
    assert not (rescued.directory / "rescue.raw").exists()


def test_a_rescue_survives_the_agent_and_the_guests_end(rescued: Rescued) -> None:
    """And what libvirt knew of the guest; each step may be repeated."""
    rescued.rescue()
    host = rescued.restart()
    assert rescued.rescue() == RUNNING
    host.power_off(rescued.guest.uuid, grace_seconds=0)
    host._guests.find(rescued.guest.uuid).undefine()
    assert host.power_on(rescued.guest).power_state == RUNNING
    assert rescued.disks == ["rescue.raw", "disk.raw"]
    for _ in range(2):
        assert host.unrescue(rescued.guest, ANYWHERE).power_state == RUNNING
    assert rescued.disks == ["disk.raw"]


def test_a_rescue_that_was_interrupted_is_completed(rescued: Rescued) -> None:
    """Its agent died when the disk was there, and the guest still ran from its own."""
    rescued.host._rescue.make_disk(rescued.guest, rescued.image)
    assert rescued.disks == ["disk.raw"]
    assert rescued.rescue() == RUNNING
    assert rescued.disks == ["rescue.raw", "disk.raw"]


def test_what_is_written_while_it_is_rescued_is_there_until_its_end(rescued: Rescued) -> None:
    """A repeated command makes no second disk."""
    rescued.rescue()
    (rescued.directory / "rescue.raw").write_bytes(b"notes")
    rescued.rescue()
    assert (rescued.directory / "rescue.raw").read_bytes() == b"notes"


def test_a_guest_goes_on_when_the_image_cannot_be_used(rescued: Rescued) -> None:
    """It is looked at before anything is stopped."""
    domain = rescued.host._guests.find(rescued.guest.uuid)
    before = domain.ID()
    with pytest.raises(FAILED, match=r"gone\.raw: No such file"):
        rescued.rescue(rescued.an_image("gone.raw"))
    assert (rescued.disks, domain.ID()) == (["disk.raw"], before)


def test_a_rescue_disk_is_not_larger_than_the_flavors(rescued: Rescued) -> None:
    """A qcow2 file of some kilobytes may be as large as a host, whose disk the guest would fill."""
    small, size = rescued.guest.flavor.root_gb, "100G"
    path = rescued._images / "huge.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(path), size], check=True)
    image = builders.an_image(disk_format="qcow2", properties={FILE_PROPERTY: path.name})
    with pytest.raises(FAILED, match=f"but the flavor's root disk only {small} GiB"):
        rescued.rescue(image)
    assert (rescued.power, rescued.disks) == (RUNNING, ["disk.raw"])


def test_a_rescue_disk_has_room_on_its_host(
    rescued: Rescued, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No scheduler counts it, and a full file system would pause all guests."""
    full = shutil._ntuple_diskusage(RESCUE_MIB, RESCUE_MIB, 0)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _path: full)
        with pytest.raises(FAILED, match=f"takes up to {RESCUE_MIB} MiB, and .* has 0 MiB free"):
            rescued.rescue()
    assert rescued.rescue() == RUNNING


def test_a_rescue_disk_behind_the_others_is_refused(rescued: Rescued) -> None:
    properties = {FILE_PROPERTY: "rescue.raw", "hw_rescue_device": "disk"}
    with pytest.raises(FAILED, match="hw_rescue_device cannot be obeyed"):
        rescued.rescue(builders.an_image(disk_format="raw", properties=properties))
    assert rescued.disks == ["disk.raw"]


@pytest.mark.parametrize(("name", "value"), [("hw_firmware_type", "uefi"), ("hw_disk_bus", "sata")])
def test_an_image_that_needs_other_hardware_is_refused(
    rescued: Rescued, name: str, value: str
) -> None:
    """The guest would not boot from it; what says the same as the guest's image is allowed."""
    properties = {FILE_PROPERTY: "rescue.raw", name: value, "hw_qemu_guest_agent": "yes"}
    with pytest.raises(FAILED, match=f"{name} of the image is {value}, and of the guest "):
        rescued.rescue(builders.an_image(disk_format="raw", properties=properties))
    assert rescued.disks == ["disk.raw"]
    same = {FILE_PROPERTY: "rescue.raw", "hw_firmware_type": "bios", "hw_machine_type": "pc"}
    assert rescued.rescue(builders.an_image(disk_format="raw", properties=same)) == RUNNING


@pytest.mark.parametrize("is_on", [True, False])
def test_a_guest_is_as_before_when_it_cannot_be_started(
    rescued: Rescued, monkeypatch: pytest.MonkeyPatch, is_on: bool
) -> None:
    """Without a rescue disk, which a later start would boot from."""
    host = rescued.host
    if not is_on:
        host.power_off(rescued.guest.uuid, grace_seconds=0)
    start, failures = host._guests.start, [DiskLost("the disk is lost")]

    def start_once_failing(domain: object) -> None:
        if failures:
            raise failures.pop()
        start(domain)

    monkeypatch.setattr(host._guests, "start", start_once_failing)
    with pytest.raises(FAILED, match="the disk is lost"):
        rescued.rescue()
    assert rescued.power == (RUNNING if is_on else SHUTDOWN)
    assert not (rescued.directory / "rescue.raw").exists()
    host.power_on(rescued.guest)
    assert rescued.disks == ["disk.raw"]


class DiskLost(OSError):
    """What a start of a guest fails with."""


def test_a_rescued_guest_is_deleted_with_all_its_disks(rescued: Rescued) -> None:
    rescued.rescue()
    rescued.host.destroy(rescued.guest.uuid)
    assert not rescued.directory.exists()
