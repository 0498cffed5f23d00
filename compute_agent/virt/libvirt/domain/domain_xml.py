"""Domain XML of a guest. Pure."""

import dataclasses
from xml.etree.ElementTree import Element, SubElement

from armillary.names.identifiers import mac_address
from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.domain.guest_cpu import GuestCpu
from compute_agent.virt.libvirt.domain.guest_devices import NO_DEVICES, GuestDevices
from compute_agent.virt.libvirt.domain.guest_disks import GuestDisk
from compute_agent.virt.libvirt.domain.guest_hardware import NO_HARDWARE, VIRTIO, GuestHardware
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.libvirt.record import GuestRecord, one_line
from objects.numa import InstanceTopology, format_cpus
from objects.numa.host import ORDINARY_PAGE_KB_MAX

_FEATURES = {"x86_64": ("acpi", "apic"), "i686": ("acpi", "apic"), "aarch64": ("acpi",)}
_PCI_FIELDS = ("domain", "bus", "slot", "function")


@dataclasses.dataclass(frozen=True, slots=True)
class GuestSpec:
    """All inputs of a domain XML: sizes in MiB."""

    uuid: str
    record: GuestRecord
    domain_type: str
    arch: str
    mode: str
    machine: str | None
    cpu: GuestCpu
    pins: Pins
    disks: tuple[GuestDisk, ...]
    disk_bus: str
    console_path: str
    network: str | None = None
    network_filter: str | None = None
    devices: GuestDevices = NO_DEVICES
    hardware: GuestHardware = NO_HARDWARE

    @property
    def topology(self) -> InstanceTopology | None:
        return self.record.place.numa_topology


def domain_name(uuid: str) -> str:
    """Return the libvirt name of a guest; the names given by users are not unique."""
    return f"instance-{uuid}"


def build(spec: GuestSpec) -> str:
    """Return the domain XML of a guest."""
    domain = Element("domain", {"type": spec.domain_type})
    SubElement(domain, "name").text = domain_name(spec.uuid)
    SubElement(domain, "uuid").text = spec.uuid
    SubElement(domain, "title").text = one_line(spec.record.name)
    SubElement(domain, "metadata").append(spec.record.to_element())
    SubElement(domain, "memory", {"unit": "MiB"}).text = str(spec.record.memory_mb)
    SubElement(domain, "vcpu").text = str(max(1, spec.record.vcpus))
    spec.pins.write(domain)
    spec.hardware.write_cpu_quota(domain)
    _add_pages(domain, spec.topology)
    _add_system(domain, spec)
    _add_cpu(domain, spec)
    spec.hardware.write_clock(domain)
    # A guest that powers off or crashes stays off; one that reboots keeps running.
    SubElement(domain, "on_poweroff").text = "destroy"
    SubElement(domain, "on_reboot").text = "restart"
    SubElement(domain, "on_crash").text = "destroy"
    _add_devices(domain, spec)
    return xml_text.write(domain)


def _add_system(domain: Element, spec: GuestSpec) -> None:
    system = SubElement(domain, "os")
    kind = SubElement(system, "type", {"arch": spec.arch})
    if spec.machine is not None:
        kind.set("machine", spec.machine)
    kind.text = spec.mode
    spec.hardware.write_firmware(system)
    SubElement(system, "boot", {"dev": "hd"})
    for name in _FEATURES.get(spec.arch, ()):
        features = domain.find("features")
        SubElement(SubElement(domain, "features") if features is None else features, name)


def _add_cpu(domain: Element, spec: GuestSpec) -> None:
    topology = spec.topology
    cpu = spec.cpu.write(domain)
    if topology is None and spec.hardware.topology is None:
        return
    cpu = SubElement(domain, "cpu") if cpu is None else cpu
    spec.hardware.write_cpu(cpu)
    if topology is not None:
        numa = SubElement(cpu, "numa")
        for number, cell in enumerate(topology.cells):
            cpus = cell.vcpus | cell.pinned_vcpus
            SubElement(
                numa,
                "cell",
                {"id": str(number), "cpus": format_cpus(cpus)} if cpus else {"id": str(number)},
                memory=str(cell.memory_mb),
                unit="MiB",
            )


def _add_pages(domain: Element, topology: InstanceTopology | None) -> None:
    """Request huge pages for the guest's cells; ordinary pages need no request."""
    if topology is None:
        return
    by_size: dict[int, set[int]] = {}
    for number, cell in enumerate(topology.cells):
        if isinstance(cell.page_size_kb, int) and cell.page_size_kb > ORDINARY_PAGE_KB_MAX:
            by_size.setdefault(cell.page_size_kb, set()).add(number)
    if not by_size:
        return
    pages = SubElement(SubElement(domain, "memoryBacking"), "hugepages")
    for size_kb, numbers in sorted(by_size.items()):
        nodes = format_cpus(frozenset(numbers))
        SubElement(pages, "page", {"size": str(size_kb), "unit": "KiB", "nodeset": nodes})


def _add_devices(domain: Element, spec: GuestSpec) -> None:
    devices = SubElement(domain, "devices")
    if spec.disk_bus == "scsi":
        SubElement(devices, "controller", {"type": "scsi", "model": spec.hardware.scsi_model})
    for number, disk in enumerate(spec.disks):
        spec.hardware.write_disk_quota(disk.write(devices, spec.disk_bus, number))
    if spec.network is not None:
        interface = SubElement(devices, "interface", {"type": "network"})
        SubElement(interface, "mac", {"address": mac_address(spec.uuid)})
        SubElement(interface, "source", {"network": spec.network})
        if spec.network_filter is not None:
            SubElement(interface, "filterref", {"filter": spec.network_filter})
        SubElement(interface, "model", {"type": spec.hardware.vif_model})
        spec.hardware.write_vif_quota(interface)
        if spec.devices.has_packed_ring and spec.hardware.vif_model == VIRTIO:
            SubElement(interface, "driver", {"packed": "on"})
    if spec.devices.sound_model is not None:
        SubElement(devices, "sound", {"model": spec.devices.sound_model})
    serial = SubElement(devices, "serial", {"type": "pty"})
    SubElement(serial, "log", {"file": spec.console_path, "append": "on"})
    spec.hardware.write_devices(devices)
    for device in spec.record.place.pci_devices:
        _add_pci(devices, device.address)


def _add_pci(devices: Element, address: str) -> None:
    """Pass a device through; libvirt detaches it from the host's driver and reattaches it."""
    host = SubElement(devices, "hostdev", {"mode": "subsystem", "type": "pci", "managed": "yes"})
    front, _, function = address.rpartition(".")
    values = (*front.split(":"), function)
    source = SubElement(host, "source")
    fields = {name: f"0x{value}" for name, value in zip(_PCI_FIELDS, values, strict=True)}
    SubElement(source, "address", fields)
