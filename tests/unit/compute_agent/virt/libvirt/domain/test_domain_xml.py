"""The XML of a guest: what stands in it, for whom."""

import dataclasses
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from armillary.names import identifiers
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.libvirt.capabilities import HostCpu
from compute_agent.virt.libvirt.domain import domain_xml
from compute_agent.virt.libvirt.domain.domain_xml import GuestSpec
from compute_agent.virt.libvirt.domain.guest_cpu import GuestCpu
from compute_agent.virt.libvirt.domain.guest_devices import GuestDevices
from compute_agent.virt.libvirt.domain.guest_disks import CephAccess, DiskKind, GuestDisk
from compute_agent.virt.libvirt.domain.guest_hardware import GuestHardware
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.libvirt.record import GuestRecord
from objects.numa import InstanceCell, InstanceTopology
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import libvirt_library

UUID = "6695eb01-f6a4-4304-89aa-97f2502e1934"
TOPOLOGY = InstanceTopology(
    (
        InstanceCell(0, vcpus=frozenset({0}), memory_mb=256, page_size_kb=2048, host_cell=1),
        InstanceCell(1, pinned_vcpus=frozenset({1}), memory_mb=128, page_size_kb=4, host_cell=0),
    )
)


HARDWARE = GuestHardware(
    firmware="uefi",
    nvram_path="/i/nvram.raw",
    vif_model="e1000e",
    video_model="virtio",
    scsi_model="lsilogic",
    has_agent=True,
    watchdog_action="reset",
    topology=(1, 2, 1),
    quotas={
        "cpu_shares": "512",
        "disk_read_bytes_sec": "1048576",
        "vif_inbound_average": "1000",
        "vif_inbound_peak": "2000",
    },
    is_windows=True,
)


def a_cpu(mode: str, model: str | None = None, *flags: tuple[str, bool]) -> GuestCpu:
    return GuestCpu(mode, model, flags, HostCpu(arch="x86_64"))


def a_spec(place: InstancePlacement = ANYWHERE, **values: Any) -> GuestSpec:
    instance = builders.an_instance(
        "web", uuid=UUID, flavor=builders.a_flavor(vcpus=2, memory_mb=384)
    )
    defaults = GuestSpec(
        uuid=UUID,
        record=GuestRecord.of(instance, place),
        domain_type="kvm",
        arch="x86_64",
        mode="hvm",
        machine="q35",
        cpu=a_cpu("host-model"),
        pins=Pins(),
        disks=(GuestDisk("/i/disk.qcow2", "qcow2"), GuestDisk("/i/swap.raw", "raw")),
        disk_bus="virtio",
        console_path="/i/console.log",
    )
    return dataclasses.replace(defaults, **values)


VOLUME = GuestDisk("/dev/guests/u_disk", "raw", DiskKind.BLOCK, cache="none")
IMAGE_OF_CEPH = GuestDisk(
    "guests/u_swap", "raw", DiskKind.NETWORK, ceph=CephAccess("/etc/ceph/ceph.conf", "me", UUID)
)


def a_domain(place: InstancePlacement = ANYWHERE, **values: Any) -> Element:
    return ElementTree.fromstring(domain_xml.build(a_spec(place, **values)))


def attributes(domain: Element, path: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in domain.iterfind(path)]


def test_optional_devices_are_there_when_they_were_asked_for() -> None:
    """A sound card, and packed virtqueues of the network interface."""
    domain = a_domain(network="default", devices=GuestDevices("virtio", has_packed_ring=True))
    assert attributes(domain, "devices/sound") == [{"model": "virtio"}]
    assert attributes(domain, "devices/interface/driver") == [{"packed": "on"}]
    plain = a_domain(network="default")
    assert plain.find("devices/sound") is None
    assert plain.find("devices/interface/driver") is None


def test_the_hardware_is_what_was_asked_for() -> None:
    domain = a_domain(hardware=HARDWARE, network="default", disk_bus="scsi")
    assert attributes(domain, "os") == [{"firmware": "efi"}]
    assert domain.findtext("os/nvram") == "/i/nvram.raw"
    assert attributes(domain, "clock") == [{"offset": "localtime"}]
    topology = {"sockets": "1", "cores": "2", "threads": "1"}
    assert attributes(domain, "cpu/topology") == [topology]
    assert domain.findtext("cputune/shares") == "512"
    assert domain.findtext("devices/disk/iotune/read_bytes_sec") == "1048576"
    bandwidth = {"average": "1000", "peak": "2000"}
    assert attributes(domain, "devices/interface/bandwidth/inbound") == [bandwidth]
    assert attributes(domain, "devices/interface/model") == [{"type": "e1000e"}]
    assert attributes(domain, "devices/controller") == [{"type": "scsi", "model": "lsilogic"}]
    assert attributes(domain, "devices/video/model") == [{"type": "virtio"}]
    assert attributes(domain, "devices/watchdog") == [{"model": "i6300esb", "action": "reset"}]
    assert attributes(domain, "devices/channel/target") == [
        {"type": "virtio", "name": "org.qemu.guest_agent.0"}
    ]


def test_disks_are_where_their_storage_has_them() -> None:
    """Files, volumes past the page cache, and images of Ceph with libvirt's secret."""
    domain = a_domain(disks=(GuestDisk("/i/disk.qcow2", "qcow2"), VOLUME, IMAGE_OF_CEPH))
    assert attributes(domain, "devices/disk/source") == [
        {"file": "/i/disk.qcow2"}, {"dev": "/dev/guests/u_disk"},
        {"name": "guests/u_swap", "protocol": "rbd"},
    ]  # fmt: skip
    assert [d.get("cache") for d in domain.iterfind("devices/disk/driver")] == [None, "none", None]
    assert attributes(domain, "devices/disk/auth/secret") == [{"type": "ceph", "uuid": UUID}]
    assert attributes(domain, "devices/disk/source/config") == [{"file": "/etc/ceph/ceph.conf"}]


def test_nothing_is_there_that_was_not_asked_for() -> None:
    domain = a_domain(network="default")
    for path in ("os/nvram", "cpu/topology", "cputune", "devices/video", "devices/watchdog"):
        assert domain.find(path) is None, path
    assert attributes(domain, "clock") == [{"offset": "utc"}]


@pytest.mark.libvirt
@pytest.mark.parametrize(
    "values",
    [
        {
            "domain_type": "qemu",
            "arch": "aarch64",
            "machine": "virt",
            "cpu": a_cpu("maximum"),
            "hardware": GuestHardware(firmware="uefi", nvram_path="/i/nvram.raw"),
        },
        {"cpu": a_cpu("host-passthrough"), "network": "default", "disk_bus": "sata"},
        {"disks": (VOLUME, IMAGE_OF_CEPH)},
        {
            "cpu": a_cpu("custom", "Westmere", ("pcid", True), ("vmx", False)),
            "pins": Pins(shared=frozenset({1, 2, 5})),
        },
        {
            "place": InstancePlacement(TOPOLOGY, (PciDevice("0000:06:10.7", "8086", "10ed"),)),
            "pins": Pins(
                vcpus={0: frozenset({4, 5}), 1: frozenset({0})},
                emulator=frozenset({0, 4, 5}),
                cells={0: 1, 1: 0},
            ),
            "disk_bus": "scsi",
        },
        {"hardware": HARDWARE, "network": "default", "disk_bus": "scsi"},
    ],
    ids=["emulated", "passthrough", "storage", "named-model", "cells-pages-devices", "hardware"],
)
def test_it_is_what_libvirts_own_schema_allows(values: dict[str, Any]) -> None:
    """Also what needs KVM, huge pages or devices: checked and defined, though not run."""
    library = libvirt_library()
    library.registerErrorHandler(lambda *_: None, None)
    opened = library.open("test:///default")
    flags = library.VIR_DOMAIN_DEFINE_VALIDATE
    defined = opened.defineXMLFlags(domain_xml.build(a_spec(**values)), flags)
    defined.undefine()
    opened.close()


def test_a_guest_is_its_instance() -> None:
    """UUID, sizes, and who runs it."""
    domain = a_domain()
    texts = [domain.findtext(name) for name in ("uuid", "name", "title", "memory", "vcpu")]
    assert texts == [UUID, f"instance-{UUID}", "web", "384", "2"]
    assert attributes(domain, "memory") == [{"unit": "MiB"}]
    assert domain.get("type") == "kvm"
    assert attributes(domain, "os/type") == [{"arch": "x86_64", "machine": "q35"}]


@pytest.mark.parametrize(
    ("arch", "features"), [("x86_64", ["acpi", "apic"]), ("aarch64", ["acpi"]), ("s390x", [])]
)
def test_a_guest_has_what_its_architecture_has(arch: str, features: list[str]) -> None:
    assert [each.tag for each in a_domain(arch=arch).iterfind("features/*")] == features


def test_no_machine_type_is_the_hypervisors_default() -> None:
    assert attributes(a_domain(machine=None), "os/type") == [{"arch": "x86_64"}]


def test_disks_are_in_order_and_the_first_is_booted_from() -> None:
    """Each with the format of its file: it is never guessed."""
    domain = a_domain()
    assert attributes(domain, "devices/disk/driver") == [
        {"name": "qemu", "type": "qcow2"},
        {"name": "qemu", "type": "raw"},
    ]
    assert attributes(domain, "devices/disk/target") == [
        {"dev": "vda", "bus": "virtio"},
        {"dev": "vdb", "bus": "virtio"},
    ]
    assert attributes(domain, "os/boot") == [{"dev": "hd"}]


@pytest.mark.parametrize(
    ("bus", "first", "controllers"),
    [("sata", "sda", []), ("scsi", "sda", [{"type": "scsi", "model": "virtio-scsi"}])],
    ids=["sata", "scsi"],
)
def test_disks_are_on_the_bus_that_the_image_wants(
    bus: str, first: str, controllers: list[dict[str, str]]
) -> None:
    domain = a_domain(disk_bus=bus)
    assert attributes(domain, "devices/disk/target")[0] == {"dev": first, "bus": bus}
    assert attributes(domain, "devices/controller") == controllers


def test_the_serial_port_is_written_to_a_file() -> None:
    """What was written before a restart is kept."""
    domain = a_domain()
    assert attributes(domain, "devices/serial/log") == [{"file": "/i/console.log", "append": "on"}]


@pytest.mark.parametrize(
    ("mode", "model", "expected"),
    [
        ("host-passthrough", None, [{"mode": "host-passthrough"}]),
        ("custom", "EPYC", [{"mode": "custom", "match": "exact"}]),
        ("none", None, []),
    ],
    ids=["host-passthrough", "custom", "none"],
)
def test_the_cpu_is_as_configured(
    mode: str, model: str | None, expected: list[dict[str, str]]
) -> None:
    domain = a_domain(cpu=a_cpu(mode, model))
    assert attributes(domain, "cpu") == expected
    assert domain.findtext("cpu/model") == model


def test_cells_of_a_guest_have_cpus_and_memory() -> None:
    """Also where the CPU is the hypervisor's default."""
    domain = a_domain(InstancePlacement(TOPOLOGY), cpu=a_cpu("none"))
    assert attributes(domain, "cpu/numa/cell") == [
        {"id": "0", "cpus": "0", "memory": "256", "unit": "MiB"},
        {"id": "1", "cpus": "1", "memory": "128", "unit": "MiB"},
    ]
    assert attributes(domain, "cpu") == [{}]


def test_huge_pages_are_for_the_cells_that_have_them() -> None:
    """Ordinary ones need not be asked for."""
    domain = a_domain(InstancePlacement(TOPOLOGY))
    assert attributes(domain, "memoryBacking/hugepages/page") == [
        {"size": "2048", "unit": "KiB", "nodeset": "0"}
    ]
    assert a_domain().find("memoryBacking") is None


def test_pci_devices_are_handed_through() -> None:
    """And libvirt takes them from the host's driver and gives them back."""
    device = PciDevice("0000:06:10.7", "8086", "10ed")
    domain = a_domain(InstancePlacement(pci_devices=(device,)))
    assert attributes(domain, "devices/hostdev") == [
        {"mode": "subsystem", "type": "pci", "managed": "yes"}
    ]
    assert attributes(domain, "devices/hostdev/source/address") == [
        {"domain": "0x0000", "bus": "0x06", "slot": "0x10", "function": "0x7"}
    ]


def test_a_guest_is_in_the_network_if_there_is_one() -> None:
    """Its address there is always the same."""
    domain = a_domain(network="default")
    assert attributes(domain, "devices/interface/source") == [{"network": "default"}]
    (mac,) = attributes(domain, "devices/interface/mac")
    assert mac["address"] == identifiers.mac_address(UUID)
    assert a_domain().find("devices/interface") is None


def test_an_interface_has_the_filter_of_its_host() -> None:
    filtered = a_domain(network="default", network_filter="clean-traffic")
    assert attributes(filtered, "devices/interface/filterref") == [{"filter": "clean-traffic"}]
    assert a_domain(network="default").find("devices/interface/filterref") is None


def test_a_name_cannot_break_the_definition() -> None:
    """Users choose it; XML has no zero bytes."""
    instance = builders.an_instance("a</title>\0\n<b>ü", uuid=UUID)
    domain = a_domain(record=GuestRecord.of(instance, ANYWHERE))
    assert domain.findtext("title") == "a</title>  <b>ü"
