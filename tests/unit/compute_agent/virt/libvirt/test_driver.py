"""The whole driver, on libvirt's test driver, which pretends to run guests in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.driver import Feature
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.hosts.host_attributes import Collector, collected_by
from objects.instance import Instance
from objects.numa import HostTopology, InstanceCell, InstanceTopology, fit
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import (
    a_guest,
    host_conf,
    libvirt_library,
    make_host,
    write_image,
)
from tests.unit.compute_agent.virt.libvirt.driver_hosts import (
    FAILED,
    TEST,
    changed,
    disk_sizes,
    host,
    powers,
)

__all__ = ["host"]

pytestmark = pytest.mark.libvirt


# The host -----------------------------------------------------------------------------------------


def test_a_host_tells_what_it_has(host: LibvirtDriver) -> None:
    """The test driver has 16 CPUs in two cells, and 3 GiB."""
    resources = host.get_resources()
    assert (resources.vcpus, resources.pcpus, resources.memory_mb) == (16, 0, 3072)
    assert [cell.cpus for cell in host.get_numa_cells()] == [
        frozenset(range(8)),
        frozenset(range(8, 16)),
    ]


def test_a_host_may_leave_its_disk_to_a_sharing_provider(tmp_path: Path) -> None:
    """What several hosts share would count once for each."""
    host = make_host(host_conf("host-1", tmp_path, **TEST, report_disk=False))
    resources = host.get_resources()
    assert resources.disk_gb == 0
    assert resources.disk_available_least is not None


def test_a_host_has_every_attribute_of_a_driver(host: LibvirtDriver) -> None:
    attributes = host.get_attributes()
    # how processes are kept apart is not its business
    assert {*attributes, "isolation"} == {a.name for a in collected_by(Collector.DRIVER)}
    assert attributes["hypervisor_type"] == "TEST"
    assert attributes["supported_instances"] == [["i686", "test", "hvm"]]
    assert json.loads(attributes["cpu_info"])["arch"] == "i686"


def test_a_host_says_what_it_can_do(host: LibvirtDriver) -> None:
    """The test driver migrates nothing; no guest takes a password."""
    without = {Feature.LIVE_MOVE, Feature.ADMIN_PASS}
    assert host.features == frozenset(Feature) - without
    assert {"HW_ARCH_I686", "COMPUTE_STORAGE_BUS_VIRTIO"} <= host.get_traits()


def test_dedicated_cpus_are_told(tmp_path: Path) -> None:
    conf = host_conf("host-1", tmp_path, **TEST)
    conf.set_override("cpu_shared_set", "0-3", group="compute")
    conf.set_override("cpu_dedicated_set", "8-9", group="compute")
    host = make_host(conf)
    resources = host.get_resources()
    assert (resources.vcpus, resources.pcpus) == (4, 2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"virt_type": "kvm"}, "supports test"),
        ({"connection_uri": "test:///no/such/file"}, r"\[libvirt\] connection_uri: test:///no"),
        ({"cpu_mode": "custom"}, "needs cpu_models"),
        ({"cpu_models": ["qemu64"]}, "no other mode has them"),
        ({"cpu_mode": "none", "cpu_model_extra_flags": ["pcid"]}, "needs a cpu_mode"),
        ({"instances_path": "/dev/null/x"}, "instances_path"),
    ],
    ids=["virt_type", "connection_uri", "cpu_mode", "cpu_models", "flags", "instances_path"],
)
def test_a_host_that_cannot_work_says_why(
    tmp_path: Path, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(exception.ConfigurationError, match=reason):
        make_host(host_conf("host-1", tmp_path, **{**TEST, **options}))


def test_overlays_need_qemu_img(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libvirt_library()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(exception.ConfigurationError, match="needs qemu-img"):
        make_host(host_conf("host-1", tmp_path, **TEST, images_type="qcow2"))


# Building and removing ----------------------------------------------------------------------------


def test_a_guest_runs_and_is_listed_and_removed(host: LibvirtDriver, tmp_path: Path) -> None:
    """Guests that others made are none of ours."""
    guest = a_guest()
    assert host.spawn(guest).power_state == "running"
    assert powers(host) == {guest.uuid: "running"}
    host.destroy(guest.uuid)
    assert powers(host) == {}
    assert list((tmp_path / "instances").iterdir()) == []


def test_all_may_be_done_twice(host: LibvirtDriver) -> None:
    guest = a_guest()
    assert host.spawn(guest) == host.spawn(guest)
    for _ in range(2):
        host.destroy(guest.uuid)


def test_a_guest_is_remembered_with_its_place(host: LibvirtDriver, tmp_path: Path) -> None:
    """By libvirt: an agent that restarts finds it."""
    asked = InstanceTopology(
        (InstanceCell(0, pinned_vcpus=frozenset({0}), memory_mb=64),), cpu_policy="dedicated"
    )
    fitted = fit(HostTopology(tuple(host.get_numa_cells())), asked)
    assert fitted is not None
    place = InstancePlacement(fitted)
    host.spawn(guest := a_guest(), place)
    later = make_host(host_conf("host-1", tmp_path, **TEST))
    assert [info.place for info in later.list_guests()] == [place]
    assert later.spawn(guest, place).place == place


def test_an_instance_becomes_a_guest_of_its_sizes(host: LibvirtDriver, tmp_path: Path) -> None:
    flavor = builders.a_flavor(vcpus=3, memory_mb=96, root_gb=2, swap_mb=8)
    host.spawn(guest := a_guest(flavor=flavor))
    domain = host._guests.find(guest.uuid)
    assert domain.info()[1:4] == [96 * 1024, 96 * 1024, 3]
    assert disk_sizes(tmp_path, guest) == {"disk.raw": 2 * 1024**3, "swap.raw": 8 * 1024**2}


@pytest.mark.parametrize(
    ("guest", "reason"),
    [
        (lambda: a_guest(properties={FILE_PROPERTY: "/etc/shadow"}), "not below"),
        (lambda: a_guest(properties={"hw_disk_bus": "floppy"}), "hw_disk_bus is floppy"),
        (lambda: builders.an_instance(), "the server has no image"),
        (lambda: a_guest(disk_format="vmdk"), "disk format is vmdk"),
    ],
    ids=["file", "bus", "no-image", "format"],
)
def test_what_no_host_can_build_is_aborted(
    host: LibvirtDriver, tmp_path: Path, guest: Any, reason: str
) -> None:
    with pytest.raises(exception.BuildAborted, match=reason):
        host.spawn(guest())
    assert list((tmp_path / "instances").iterdir()) == []


def test_an_image_larger_than_its_disk_is_aborted(host: LibvirtDriver, tmp_path: Path) -> None:
    write_image(tmp_path / "images", size=2 * 1024**3)
    with pytest.raises(exception.BuildAborted, match="root disk only 1 GiB"):
        host.spawn(a_guest())


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({FILE_PROPERTY: "elsewhere.raw"}, "elsewhere.raw: No such file"),
        ({"hw_architecture": "s390x"}, "architecture"),
    ],
    ids=["file", "architecture"],
)
def test_what_another_host_may_build_has_failed(
    host: LibvirtDriver, tmp_path: Path, properties: dict[str, str], reason: str
) -> None:
    """With nothing left of it."""
    with pytest.raises(exception.BuildFailed, match=reason):
        host.spawn(a_guest(properties=properties))
    assert list((tmp_path / "instances").iterdir()) == []
    assert powers(host) == {}


def test_what_libvirt_says_is_the_reason(host: LibvirtDriver) -> None:
    """A domain of another program has this name already."""
    guest = a_guest()
    domain = f"<domain type='test'><name>instance-{guest.uuid}</name><memory>9</memory>"
    opened = host._connection.get()
    foreign = opened.defineXML(f"{domain}<os><type>hvm</type></os></domain>")
    try:
        with pytest.raises(exception.BuildFailed, match="already exists"):
            host.spawn(guest)
        assert powers(host) == {}
    finally:
        foreign.undefine()


# In place -----------------------------------------------------------------------------------------


def test_a_guest_goes_off_and_on(host: LibvirtDriver) -> None:
    """Each may be done twice."""
    host.spawn(guest := a_guest())
    for _ in range(2):
        assert host.power_off(guest.uuid, grace_seconds=1).power_state == "shutdown"
    assert powers(host) == {guest.uuid: "shutdown"}
    for _ in range(2):
        assert host.power_on(guest).power_state == "running"


@pytest.mark.parametrize("is_hard", [True, False], ids=["hard", "soft"])
def test_a_guest_is_restarted(host: LibvirtDriver, is_hard: bool) -> None:
    host.spawn(guest := a_guest())
    domain = host._guests.find(guest.uuid)
    before = domain.ID()
    info = host.reboot(guest, ANYWHERE, is_hard=is_hard, grace_seconds=1)
    assert info.power_state == "running"
    assert host._guests.find(guest.uuid).ID() != before


def test_a_guest_that_ended_by_itself_is_off(host: LibvirtDriver) -> None:
    host.spawn(guest := a_guest())
    host._guests.find(guest.uuid).shutdown()
    (info,) = host.list_guests()
    assert (info.power_state, info.is_moving) == ("shutdown", False)


def test_a_guest_is_measured(host: LibvirtDriver) -> None:
    host.spawn(guest := a_guest())
    found = host.get_diagnostics(guest.uuid)
    assert (found.driver, found.hypervisor, found.power_state) == ("libvirt", "test", "running")
    assert found.memory_max_mb == guest.flavor.memory_mb
    assert len(found.cpu_seconds) >= 1
    host.power_off(guest.uuid, grace_seconds=0)
    assert host.get_diagnostics(guest.uuid).cpu_seconds == []


def test_the_console_is_the_end_of_its_log(host: LibvirtDriver, tmp_path: Path) -> None:
    host.spawn(guest := a_guest())
    assert host.get_console_output(guest.uuid, lines=None) == ""
    (tmp_path / "instances" / guest.uuid / "console.log").write_text("a\nb\n")
    assert host.get_console_output(guest.uuid, lines=1) == "b\n"


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("VIR_ERR_NO_SUPPORT", exception.OperationUnsupported),
        ("VIR_ERR_OPERATION_UNSUPPORTED", exception.OperationUnsupported),
        ("VIR_ERR_INTERNAL_ERROR", FAILED),
    ],
)
def test_a_refusal_says_whether_the_hypervisor_can_inject_interrupts(
    host: LibvirtDriver, monkeypatch: pytest.MonkeyPatch, code: str, refusal: type[Exception]
) -> None:
    """The test driver can, and its guest does not mind."""
    host.spawn(guest := a_guest())
    host.trigger_crash_dump(guest.uuid)
    libvirt = pytest.importorskip("libvirt")
    error = libvirt.libvirtError("no interrupts")
    error.err = (getattr(libvirt, code), 0, "no interrupts", 2, "", None, None, 0, 0)
    refusing = mock.Mock(**{"injectNMI.side_effect": error})
    monkeypatch.setattr(host._guests, "find", lambda _uuid: refusing)
    monkeypatch.setattr(host._guests, "is_running", lambda _domain: True)
    with pytest.raises(refusal, match="no interrupts"):
        host.trigger_crash_dump(guest.uuid)


@pytest.mark.parametrize(
    "operation",
    [
        lambda host, guest: host.power_off(guest.uuid, grace_seconds=0),
        lambda host, guest: host.power_on(guest),
        lambda host, guest: host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0),
        lambda host, guest: host.get_console_output(guest.uuid, lines=1),
        lambda host, guest: host.get_diagnostics(guest.uuid),
        lambda host, guest: host.trigger_crash_dump(guest.uuid),
        lambda host, guest: host.detach(guest.uuid, grace_seconds=0),
        lambda host, guest: host.resize(guest, ANYWHERE, is_on=True),
        lambda host, guest: host.describe_live(guest.uuid),
        lambda host, guest: host.complete_live(guest, ANYWHERE),
        lambda host, guest: host.live_migrate(guest, {}, None),
    ],
    ids=[
        "off",
        "on",
        "reboot",
        "console",
        "diagnostics",
        "dump",
        "detach",
        "resize",
        "describe",
        "complete",
        "migrate",
    ],
)
def test_nothing_can_be_done_with_no_guest(host: LibvirtDriver, operation: Any) -> None:
    with pytest.raises(FAILED, match=r"on host host-1: the guest does not exist"):
        operation(host, a_guest())


@pytest.mark.parametrize("is_hard", [None, True], ids=["start", "hard-reboot"])
def test_a_domain_that_was_undefined_is_defined_again_with_its_disk(
    host: LibvirtDriver, tmp_path: Path, is_hard: bool | None
) -> None:
    """By another program of the host; until then, the guest is off."""
    host.spawn(guest := a_guest())
    disk = tmp_path / "instances" / guest.uuid / "disk.raw"
    with disk.open("r+b") as file:
        file.write(b"written by the guest")
    domain = host._guests.find(guest.uuid)
    domain.destroy()
    domain.undefine()
    (info,) = host.list_guests()
    assert (info.power_state, info.is_moving) == ("shutdown", False)
    assert host.power_off(guest.uuid, grace_seconds=1).power_state == "shutdown"
    if is_hard is None:
        assert host.power_on(guest).power_state == "running"
    else:
        info = host.reboot(guest, ANYWHERE, is_hard=is_hard, grace_seconds=1)
        assert info.power_state == "running"
    assert disk.read_bytes().startswith(b"written by the guest")


@pytest.mark.parametrize(
    ("name", "power_state", "reason"),
    [
        ("VIR_DOMAIN_PAUSED_USER", "paused", "it was paused"),
        ("VIR_DOMAIN_PAUSED_IOERROR", "paused", "an error of its disk"),
        ("VIR_DOMAIN_PAUSED_SAVE", "running", ""),
    ],
    ids=["user", "disk", "passing"],
)
def test_a_paused_guest_says_why(
    host: LibvirtDriver, name: str, power_state: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pauses it in passing goes on by itself."""
    host.spawn(guest := a_guest())
    library = libvirt_library()
    state = [library.VIR_DOMAIN_PAUSED, getattr(library, name)]
    monkeypatch.setattr(library.virDomain, "state", lambda _domain, _flags: state)
    (info,) = host.list_guests()
    assert (info.instance_uuid, info.power_state) == (guest.uuid, power_state)
    assert (info.reason or "").startswith(reason)


UNDEFINED: dict[str, tuple[Callable[[LibvirtDriver, Instance], object], str]] = {
    "reboot": (
        lambda host, guest: host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0), "running",
    ),
    "stop": (lambda host, guest: host.power_off(guest.uuid, grace_seconds=0), "shutdown"),
    "suspend": (lambda host, guest: host.suspend(guest.uuid), "suspended"),
    "resize": (
        lambda host, guest: host.resize(changed(guest, memory_mb=96), ANYWHERE, is_on=True),
        "running",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_guest_that_was_undefined_while_it_ran_outlives_what_is_done_to_it(
    host: LibvirtDriver, name: str
) -> None:
    """Its domain would vanish with the running guest."""
    host.spawn(guest := a_guest())
    host._guests.find(guest.uuid).undefine()
    operate, power_state = UNDEFINED[name]
    operate(host, guest)
    assert powers(host) == {guest.uuid: power_state}
    assert host._guests.find(guest.uuid).isPersistent()
