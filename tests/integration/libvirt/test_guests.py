"""Virtual machines for real, under software emulation, on two hosts that are two daemons."""

import threading
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.driver import Feature
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from objects.numa import HostTopology, InstanceCell, InstanceTopology, fit
from tests import builders
from tests.fixtures.asking import wait_for
from tests.fixtures.libvirt.libvirt_hosts import GREETING, a_guest
from tests.fixtures.services import leave_out
from tests.integration.libvirt.libvirt_daemons import Daemons

pytestmark = pytest.mark.libvirt

BOOT_SECONDS_MAX = 60
GIB = 1024**3


def may_fault() -> bool:
    """Return whether the kernel lets QEMU, as an ordinary user, have post-copy."""
    setting = Path("/proc/sys/vm/unprivileged_userfaultfd")
    return setting.exists() and setting.read_text().strip() == "1"


class Watch:
    """Watcher of a live migration; it is aborted once it is under way, if at all."""

    def __init__(self, *, aborts: bool = False) -> None:
        self._aborts = aborts
        self.totals_mb: list[int] = []
        self.was_asked = threading.Event()

    def progress(self, *, total_mb: int, remaining_mb: int) -> None:
        assert 0 <= remaining_mb <= total_mb
        self.totals_mb.append(total_mb)

    def is_aborted(self) -> bool:
        self.was_asked.set()
        return self._aborts

    def is_forced(self) -> bool:
        return False


def console(host: LibvirtDriver, guest: Instance) -> str:
    return host.get_console_output(guest.uuid, lines=None)


def wait_for_boots(host: LibvirtDriver, guest: Instance, count: int = 1) -> None:
    wait_for(lambda: console(host, guest).count(GREETING) == count, "boots", BOOT_SECONDS_MAX)


def wait_until_it_goes_on(host: LibvirtDriver, guest: Instance) -> None:
    """Wait for a sign of life: it writes a dot at each tick of its clock."""
    before = len(console(host, guest))
    wait_for(lambda: len(console(host, guest)) > before, "a sign of life", BOOT_SECONDS_MAX)


def states(host: LibvirtDriver) -> list[tuple[str, bool]]:
    return [(guest.power_state, guest.is_moving) for guest in host.list_guests()]


def booted(host: LibvirtDriver) -> Instance:
    """Return a guest that runs there, with a disk as small as its image."""
    guest = a_guest(flavor=builders.a_flavor(memory_mb=64, root_gb=0))
    host.spawn(guest)
    wait_for_boots(host, guest)
    return guest


def test_a_guest_boots_goes_off_and_boots_again(daemons: Daemons) -> None:
    """It knows of no power button, so it is ended when the grace is over."""
    host = daemons.host("a", images_type="qcow2", cpu_mode="host-model")
    assert host.features == frozenset(Feature) - {Feature.ADMIN_PASS}
    guest = booted(host)
    assert host.power_off(guest.uuid, grace_seconds=0.5).power_state == "shutdown"
    assert host.power_on(guest).power_state == "running"
    wait_for_boots(host, guest, 2)
    host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    wait_for_boots(host, guest, 3)
    host.destroy(guest.uuid)
    assert states(host) == []


@pytest.mark.long
def test_a_crash_dump_is_triggered(daemons: Daemons) -> None:
    """By an interrupt, which this guest does not mind; not in one that is off."""
    host = daemons.host("a")
    guest = booted(host)
    host.trigger_crash_dump(guest.uuid)
    assert states(host) == [("running", False)]
    host.power_off(guest.uuid, grace_seconds=0)
    with pytest.raises(exception.OperationFailed, match="the guest is not running"):
        host.trigger_crash_dump(guest.uuid)


@pytest.mark.long
def test_a_guest_has_its_place(daemons: Daemons) -> None:
    """The hypervisor's threads are where the topology says."""
    host = daemons.host("a")
    asked = InstanceTopology(
        (InstanceCell(0, pinned_vcpus=frozenset({0}), memory_mb=64),), cpu_policy="dedicated"
    )
    fitted = fit(HostTopology(tuple(host.get_numa_cells())), asked)
    assert fitted is not None
    host.spawn(guest := a_guest(), InstancePlacement(fitted))
    wait_for_boots(host, guest)
    _, pins = host._guests.find(guest.uuid).vcpus()
    assert [{cpu for cpu, is_in in enumerate(pin) if is_in} for pin in pins] == [
        {fitted.cells[0].pinning[0]}
    ]


@pytest.mark.long
@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_a_running_guest_moves(daemons: Daemons, images_type: str) -> None:
    """It goes on where it was; the source is told how far it is, and asked twice it has left."""
    source, destination = (daemons.host(name, images_type=images_type) for name in "ab")
    guest, watch = booted(source), Watch()
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    assert states(destination) == [("shutdown", True)]
    source.live_migrate(guest, there, watch)
    source.live_migrate(guest, there, watch)
    assert destination.complete_live(guest, ANYWHERE).power_state == "running"
    assert (states(source), states(destination)) == ([("shutdown", True)], [("running", False)])
    assert set(watch.totals_mb) <= {64}
    wait_until_it_goes_on(destination, guest)
    assert console(destination, guest).count(GREETING) == 1  # its log came along
    source.destroy(guest.uuid)
    destination.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    wait_for_boots(destination, guest, 2)  # so its disk came along


@pytest.mark.long
def test_a_paused_guest_moves_and_stays_paused(daemons: Daemons) -> None:
    """It goes on at its destination once it is told to."""
    source, destination = (daemons.host(name) for name in "ab")
    guest = booted(source)
    source.pause(guest.uuid)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    source.live_migrate(guest, there, Watch())
    assert destination.complete_live(guest, ANYWHERE).power_state == "paused"
    assert (states(source), states(destination)) == ([("shutdown", True)], [("paused", False)])
    source.destroy(guest.uuid)
    assert destination.unpause(guest.uuid).power_state == "running"
    wait_until_it_goes_on(destination, guest)


@pytest.mark.long
def test_a_running_guest_moves_over_a_shared_directory_without_a_copy(daemons: Daemons) -> None:
    """As on NFS: the same file is its disk before and after, and is gone with the guest."""
    shared = daemons.directory / "a/state/shared"
    source, destination = (daemons.host(name, instances_path=str(shared)) for name in "ab")
    guest = booted(source)
    disk = shared / guest.uuid / "disk.raw"
    before = disk.stat().st_ino
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    assert there["is_shared"]
    try:
        source.live_migrate(guest, there, Watch())
    except exception.OperationFailed as error:
        if "without shared storage is unsafe" not in str(error):
            raise
        assert states(source) == [("running", False)]
        leave_out("a shared file system", f"libvirt calls that of {shared} a local one")
    destination.complete_live(guest, ANYWHERE)
    source.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([], [("running", False)])
    wait_until_it_goes_on(destination, guest)
    assert disk.stat().st_ino == before
    destination.destroy(guest.uuid)
    assert list(shared.iterdir()) == []


@pytest.mark.long
def test_a_guest_of_a_dead_host_boots_from_the_shared_disk(daemons: Daemons) -> None:
    """QEMU refuses it while the guest still runs; then the disk stays the former host's."""
    shared = daemons.directory / "a/state/shared"
    source, destination = (daemons.host(name, instances_path=str(shared)) for name in "ab")
    guest = booted(source)
    disk = shared / guest.uuid / "disk.raw"
    before = disk.stat().st_ino
    with pytest.raises(exception.BuildFailed, match="lock"):
        destination.recover(guest, ANYWHERE, former_host="a")
    wait_until_it_goes_on(source, guest)
    source._guests.find(guest.uuid).destroy()  # as when its machine ends
    destination.recover(guest, ANYWHERE, former_host="a")
    wait_for_boots(destination, guest, 2)
    source.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([], [("running", False)])
    assert disk.stat().st_ino == before


@pytest.mark.long
def test_variables_of_the_firmware_outlive_a_former_host_that_shares_them(daemons: Daemons) -> None:
    shared = daemons.directory / "a/state/shared"
    source, destination = (daemons.host(name, instances_path=str(shared)) for name in "ab")
    if "COMPUTE_FIRMWARE_UEFI" not in source.get_traits():
        leave_out("libvirt", "there is no UEFI firmware (package ovmf)")
    guest = a_guest(properties={"hw_firmware_type": "uefi"})
    source.spawn(guest)
    payload = source.detach(guest.uuid, grace_seconds=0)
    destination.attach(guest, ANYWHERE, payload, is_on=True)
    variables = shared / guest.uuid / "nvram.raw"
    before = variables.stat().st_ino
    source.destroy(guest.uuid)
    assert variables.stat().st_ino == before


@pytest.mark.long
def test_a_move_that_is_called_off_leaves_the_guest_where_it_was(daemons: Daemons) -> None:
    source, destination = daemons.host("a", live_migration_bandwidth=1), daemons.host("b")
    guest = booted(source)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    with pytest.raises(exception.LiveMigrationAborted):
        source.live_migrate(guest, there, Watch(aborts=True))
    destination.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([("running", False)], [])
    wait_until_it_goes_on(source, guest)


@pytest.mark.long
def test_a_move_that_takes_too_long_is_aborted(daemons: Daemons) -> None:
    """It says after how long, and the guest stays where it was."""
    limits = {"live_migration_bandwidth": 1, "live_migration_completion_timeout": 1}
    source, destination = daemons.host("a", **limits), daemons.host("b")
    guest = booted(source)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    with pytest.raises(exception.OperationFailed, match="not complete within 2 s"):
        source.live_migrate(guest, there, Watch())
    destination.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([("running", False)], [])
    wait_until_it_goes_on(source, guest)


@pytest.mark.long
@pytest.mark.parametrize("has_post_copy", [False, True], ids=["pause", "post-copy"])
def test_a_move_that_takes_too_long_is_forced(daemons: Daemons, has_post_copy: bool) -> None:
    """And the guest continues at its destination."""
    if has_post_copy and not may_fault():
        leave_out("Post-copy", "vm.unprivileged_userfaultfd is not 1 on this machine")
    source = daemons.host(
        "a", live_migration_bandwidth=1, live_migration_completion_timeout=1,
        live_migration_timeout_action="force_complete",
        live_migration_permit_post_copy=has_post_copy,
    )  # fmt: skip
    destination = daemons.host("b")
    guest = booted(source)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    source.live_migrate(guest, there, Watch())
    assert destination.complete_live(guest, ANYWHERE).power_state == "running"
    assert states(source) == [("shutdown", True)]
    wait_until_it_goes_on(destination, guest)


@pytest.mark.long
def test_an_agent_that_comes_back_waits_for_a_move_under_way(
    daemons: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemons go on without it; at the end the guest is paused here for a moment, then gone.

    What is taken for failed would be destroyed at its destination.
    """
    source, destination = daemons.host("a", live_migration_bandwidth=1), daemons.host("b")
    guest, first, second = booted(source), Watch(), Watch()
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    seen = source._guests.find(guest.uuid)
    thread = threading.Thread(target=source.live_migrate, args=(guest, there, first))
    thread.start()
    assert first.was_asked.wait(BOOT_SECONDS_MAX)
    back = daemons.host("a")
    monkeypatch.setattr(back._guests, "is_running", lambda _domain: False)
    back.live_migrate(guest, there, second)
    assert second.was_asked.is_set()
    assert destination.complete_live(guest, ANYWHERE).power_state == "running"
    thread.join(BOOT_SECONDS_MAX)
    monkeypatch.undo()
    assert states(source) == [("shutdown", True)]
    found, find = iter([seen, seen]), back._guests.find
    monkeypatch.setattr(back._guests, "find", lambda uuid: next(found, None) or find(uuid))
    back.live_migrate(guest, there, second)
    assert list(found) == []


@pytest.mark.long
def test_a_move_that_fails_says_why(daemons: Daemons) -> None:
    """And the guest runs on."""
    source, destination = daemons.host("a"), daemons.host("b")
    guest = booted(source)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    with pytest.raises(exception.OperationFailed, match="Failed to connect socket"):
        source.live_migrate(guest, {**there, "address": "nowhere"}, Watch())
    assert states(source) == [("running", False)]


def test_a_destination_may_lack_what_a_guest_needs(daemons: Daemons) -> None:
    """Nothing is left of the attempt."""
    source, destination = daemons.host("a"), daemons.host("b")
    told = source.describe_live(booted(source).uuid)
    for lacking in ({"machine": "pc-q35-99.0"}, {"virt_type": "kvm"}, {"arch": "s390x"}):
        with pytest.raises(exception.OperationFailed):
            destination.prepare_live(a_guest(), ANYWHERE, {**told, **lacking})
    assert states(destination) == []


@pytest.mark.long
@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_a_guest_that_is_off_moves_with_its_disks(daemons: Daemons, images_type: str) -> None:
    """Larger than before; when that is taken back, it is at its source as it was."""
    source, destination = (daemons.host(name, images_type=images_type) for name in "ab")
    guest = booted(source)
    flavor = builders.a_flavor("larger", memory_mb=96, root_gb=2, swap_mb=8)
    larger = builders.an_instance(uuid=guest.uuid, image=guest.image, flavor=flavor)
    migration_payload = source.detach(guest.uuid, grace_seconds=0)
    assert states(source) == [("shutdown", True)]
    for _ in range(2):
        assert (
            destination.attach(larger, ANYWHERE, migration_payload, is_on=True).power_state
            == "running"
        )
    wait_for_boots(destination, guest, 2)
    assert destination._guests.find(guest.uuid).blockInfo("vda")[0] == 2 * GIB
    destination.destroy(guest.uuid)
    source.power_on(guest)
    wait_for_boots(source, guest, 2)
    assert (states(source), states(destination)) == ([("running", False)], [])


@pytest.mark.long
def test_a_guest_cannot_move_where_its_image_is_not(daemons: Daemons) -> None:
    """An overlay is nothing without what it lies over."""
    source = daemons.host("a", images_type="qcow2")
    destination = daemons.host(
        "b", images_type="qcow2", images_path=str(daemons.directory / "none")
    )
    guest = booted(source)
    migration_payload = source.detach(guest.uuid, grace_seconds=0)
    with pytest.raises(exception.OperationFailed, match=r"backing file greeting\.raw"):
        destination.attach(guest, ANYWHERE, migration_payload, is_on=True)
    assert states(destination) == []
