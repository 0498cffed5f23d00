"""Properties of a libvirt daemon's host, its PCI devices, and how it can run guests."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import os_traits
from oslo_config import cfg

from armillary import exception
from compute_agent.host.pci_devices import PCI, PHYSICAL_FUNCTION, VIRTUAL_FUNCTION, PciDevice
from compute_agent.virt.libvirt.capabilities import Capabilities, GuestKind, host_cells
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.disks.hypervisor_access import HypervisorUser
from compute_agent.virt.libvirt.domain import guest_networks, xml_text
from compute_agent.virt.libvirt.domain.guest_cpu import GuestCpus
from compute_agent.virt.libvirt.domain.guest_devices import DeviceSupport, reported_models
from compute_agent.virt.libvirt.domain.guest_hardware import WITHOUT_BIOS
from compute_agent.virt.machine.cpu_split import CpuSplit
from compute_agent.virt.machine.device_spec import DeviceSpec, pick
from objects.images import platform
from objects.images.guest_properties import SETTINGS
from objects.images.image_meta import ImageMeta
from objects.numa import HostCell

LOG = logging.getLogger(__name__)

FULL_VIRTUALISATION = "hvm"
_KIB_PER_MIB = 1024
_MACHINES = {"x86_64": "q35", "aarch64": "virt"}
_OWN_TRAITS = frozenset(
    {
        "COMPUTE_GRAPHICS_MODEL_NONE",
        "COMPUTE_IMAGE_TYPE_RAW",
        "COMPUTE_SAME_HOST_COLD_MIGRATE",
        "COMPUTE_STORAGE_BUS_SATA",
        "COMPUTE_STORAGE_BUS_SCSI",
        "COMPUTE_STORAGE_BUS_VIRTIO",
    }
)


class HostFacts:
    """Properties read from the daemon once at startup. Raises ConfigurationError."""

    def __init__(self, conf: cfg.ConfigOpts, connection: Connection) -> None:
        self._conf = conf
        self._connection = connection
        opened = connection.get()
        try:
            self.capabilities = Capabilities.parse(opened.getCapabilities())
            self.memory_mb = self._memory_mb(opened)
            self.hypervisor_type = str(opened.getType())
            self.hypervisor_version = int(opened.getVersion())
            self._libvirt_version = int(opened.getLibVersion())
            self.kinds = self._kinds()
            self.cpus = GuestCpus(
                conf, connection, self.capabilities, self.kinds[0],
                self.machine_for(self.kinds[0], None),
            )  # fmt: skip
            self.cpu = self.cpus.all[0].found
            self._reported_sound = self._reported_sound_models(opened)
        except (connection.library.libvirtError, ValueError) as error:
            raise exception.ConfigurationError(
                reason=f"[libvirt] connection_uri {connection.uri}: cannot read the host's "
                f"capabilities: {error}"
            ) from error
        self.split = CpuSplit.of(conf, self.capabilities.cpus)
        self.cells: Sequence[HostCell] = host_cells(
            self.capabilities.cells, self.split, self.memory_mb
        )

    @property
    def virt_type(self) -> str:
        return str(self._conf.libvirt.virt_type)

    @property
    def hypervisor_user(self) -> HypervisorUser | None:
        """The user that guests run as; None if it is the agent's own."""
        return HypervisorUser.of_label(self.capabilities.user_labels.get(self.virt_type))

    def traits(self) -> frozenset[str]:
        """Return the standard traits of the guests' CPU and of this driver."""
        options = self._conf.libvirt
        traits = set(_OWN_TRAITS | self.cpus.traits)
        traits |= {f"COMPUTE_ARCH_{self.capabilities.cpu.arch.upper()}"} & set(
            os_traits.get_traits("COMPUTE_ARCH")
        )
        if self.kinds[0].arch not in WITHOUT_BIOS:
            traits.add("COMPUTE_FIRMWARE_BIOS")
        if options.images_type == "qcow2":
            traits.add("COMPUTE_IMAGE_TYPE_QCOW2")
        has_network = bool(guest_networks.names_in(self._conf))
        if has_network:
            traits.update(
                f"COMPUTE_NET_VIF_MODEL_{model.upper()}"
                for model in SETTINGS["vif_model"].values or ()
            )
        traits.update(self._of_emulator())
        devices = DeviceSupport(
            arch=self.kinds[0].arch,
            libvirt_version=self._libvirt_version,
            hypervisor_version=self.hypervisor_version,
            has_network=has_network,
            reported_sound=self._reported_sound,
        )
        traits.update(devices.traits())
        if self.capabilities.migrates_live and options.live_migration_permit_auto_converge:
            traits.add("COMPUTE_MIGRATE_AUTO_CONVERGE")
        if any(cell.siblings for cell in self.cells):
            traits.add("HW_CPU_HYPERTHREADING")
        return frozenset(traits)

    def _of_emulator(self) -> Iterator[str]:
        """Yield the traits of firmware and video models that libvirt says QEMU has here."""
        kind = self.kinds[0]
        question = (None, kind.arch, self.machine_for(kind, None), self.virt_type)
        try:
            found = xml_text.parse(self._connection.get().getDomainCapabilities(*question, 0))
        except self._connection.library.libvirtError as error:
            LOG.info("libvirt does not report the devices of guests: %s", error)
            return
        for value in found.iterfind("./os/enum[@name='firmware']/value"):
            if value.text == "efi":
                yield "COMPUTE_FIRMWARE_UEFI"
        models = SETTINGS["video_model"].values or ()
        for value in found.iterfind("./devices/video/enum[@name='modelType']/value"):
            if value.text is not None and value.text in models:
                yield f"COMPUTE_GRAPHICS_MODEL_{value.text.upper()}"

    def pci_devices(self) -> tuple[PciDevice, ...]:
        """Return the devices selected by ``[pci] device_spec``. Raises ConfigurationError."""
        specs = DeviceSpec.parse_all(self._conf.pci.device_spec)
        if not specs:
            return ()
        library = self._connection.library
        try:
            listed = self._connection.get().listAllDevices(
                library.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV
            )
            parsed = [parse_device(device.XMLDesc(0)) for device in listed]
        except (library.libvirtError, ValueError, KeyError) as error:
            raise exception.ConfigurationError(
                reason=f"[pci] device_spec: cannot list PCI devices with libvirt: {error}"
            ) from error
        found = sorted((d for d in parsed if d is not None), key=lambda d: d.address)
        return pick(found, specs)

    def kind_for(self, image: ImageMeta | None) -> GuestKind | None:
        """Return the guest kind for an image; None if this host cannot run it."""
        arch = "" if image is None else platform.architecture(image.properties)
        return next((kind for kind in self.kinds if arch in ("", kind.arch)), None)

    def machine_for(self, kind: GuestKind, image: ImageMeta | None) -> str | None:
        """Return the machine type of a guest; None for the hypervisor's default."""
        asked = "" if image is None else image.properties.get("hw_machine_type", "")
        named = asked or self._conf.libvirt.hw_machine_type
        if named:
            return str(named)
        usual = _MACHINES.get(kind.arch)
        return usual if usual in kind.machines else None

    def _kinds(self) -> list[GuestKind]:
        found = [
            kind
            for kind in self.capabilities.kinds(self.virt_type)
            if kind.mode == FULL_VIRTUALISATION
        ]
        if found:
            return found
        offered = sorted({name for kind in self.capabilities.guests for name in kind.domain_types})
        raise exception.ConfigurationError(
            reason=f"[libvirt] virt_type is {self.virt_type}, but {self._connection.uri} supports "
            f"{', '.join(offered) or 'none'}"
        )

    def _reported_sound_models(self, opened: Any) -> frozenset[str] | None:
        kind = self.kinds[0]
        machine = self.machine_for(kind, None)
        try:
            text = opened.getDomainCapabilities(None, kind.arch, machine, self.virt_type, 0)
        except self._connection.library.libvirtError as error:
            LOG.info("libvirt does not report the devices of guests: %s", error)
            return None
        return reported_models(xml_text.parse(text), "sound")

    def _memory_mb(self, opened: Any) -> int:
        """Return the memory of the host from the kernel; its cells may report less."""
        library = self._connection.library
        try:
            found = opened.getMemoryStats(library.VIR_NODE_MEMORY_STATS_ALL_CELLS)
            return int(found["total"]) // _KIB_PER_MIB
        except library.libvirtError:
            return int(opened.getInfo()[1])


def parse_device(text: str) -> PciDevice | None:
    """Return the device in a node device's XML; None if it is not a PCI device with ids."""
    pci = xml_text.parse(text).find("./capability[@type='pci']")
    if pci is None:
        return None
    vendor, product = pci.find("vendor"), pci.find("product")
    if vendor is None or product is None:
        return None
    numa = pci.find("numa")
    function = pci.find("./capability[@type='phys_function']")
    card = None if function is None else function.find("address")
    return PciDevice(
        address=_own_address(pci),
        vendor_id=_id(vendor),
        product_id=_id(product),
        dev_type=_dev_type(pci, card),
        numa_node=None if numa is None else int(numa.attrib["node"]),
        parent=None if card is None else _address(card),
    )


def _dev_type(pci: Element, card: Element | None) -> str:
    if card is not None:
        return VIRTUAL_FUNCTION
    functions = pci.find("./capability[@type='virt_functions']")
    return PCI if functions is None else PHYSICAL_FUNCTION


def _id(element: Element) -> str:
    return f"{int(element.attrib['id'], 16):04x}"


def _own_address(pci: Element) -> str:
    numbers = (int(pci.findtext(name) or 0) for name in ("domain", "bus", "slot", "function"))
    return _written(*numbers)


def _address(element: Element) -> str:
    names = ("domain", "bus", "slot", "function")
    return _written(*(int(element.attrib[name], 16) for name in names))


def _written(domain: int, bus: int, slot: int, function: int) -> str:
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"
