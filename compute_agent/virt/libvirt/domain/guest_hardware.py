"""Hardware of guests as flavor and image ask for it: firmware, models, topology, limits."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Self
from xml.etree.ElementTree import Element, SubElement

from oslo_utils import strutils

from compute_agent.virt.libvirt.disks.images import BadImage
from objects import guest_cpu_topology
from objects.images import guest_properties
from objects.images.guest_quotas import CPU_QUOTAS, DISK_QUOTAS, QUOTA
from objects.instance import Instance

BIOS, UEFI, VIRTIO, WINDOWS = "bios", "uefi", "virtio", "windows"
WITHOUT_BIOS = frozenset({"aarch64"})
"""Architectures whose guests boot by UEFI alone."""
AGENT_CHANNEL = "org.qemu.guest_agent.0"
_WATCHDOG_MODEL = "i6300esb"
_NO_WATCHDOG = "disabled"


@dataclasses.dataclass(frozen=True, slots=True)
class GuestHardware:
    """What a guest gets, None for the default.

    ``topology`` is sockets, cores and threads. ``nvram_path`` is the file of the firmware's
    variables. ``quotas`` are the flavor's, by name without prefix: shares of and microseconds on
    CPUs, bytes and operations of disks, KiB per second of interfaces.
    """

    firmware: str = BIOS
    nvram_path: str | None = None
    vif_model: str = VIRTIO
    video_model: str | None = None
    scsi_model: str = "virtio-scsi"
    has_agent: bool = False
    watchdog_action: str | None = None
    topology: tuple[int, int, int] | None = None
    quotas: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    is_windows: bool = False
    has_random_numbers: bool = True

    @classmethod
    def of(cls, instance: Instance, nvram_path: str, arch: str) -> Self:
        """Return what flavor and image ask for, and what guests of an architecture need.

        A value that guests cannot have counts as none: the request was refused for it before.
        """
        flavor, image = instance.flavor, instance.image

        def setting(name: str) -> str | None:
            value = guest_properties.asked(flavor, image, name)
            values = guest_properties.SETTINGS[name].values
            return value if values is None or value in values else None

        properties = {} if image is None else image.properties
        firmware = UEFI if arch in WITHOUT_BIOS else setting("firmware_type") or BIOS
        watchdog = setting("watchdog_action")
        video = setting("video_model")
        return cls(
            firmware=firmware,
            nvram_path=nvram_path if firmware == UEFI else None,
            vif_model=setting("vif_model") or VIRTIO,
            video_model=video,
            scsi_model=setting("scsi_model") or "virtio-scsi",
            has_agent=strutils.bool_from_string(setting("qemu_guest_agent"), default=False),
            watchdog_action=None if watchdog == _NO_WATCHDOG else watchdog,
            topology=_possible_topology(instance),
            quotas={
                name.removeprefix(QUOTA): value
                for name, value in flavor.extra_specs.items()
                if name.startswith(QUOTA)
            },
            is_windows=str(properties.get("os_type", "")).lower() == WINDOWS,
            has_random_numbers=guest_properties.has_random_numbers(flavor),
        )

    def write_firmware(self, system: Element) -> None:
        """Have libvirt choose an UEFI firmware without secure boot, with variables of its own."""
        if self.nvram_path is None:
            return
        system.set("firmware", "efi")
        firmware = SubElement(system, "firmware")
        SubElement(firmware, "feature", {"enabled": "no", "name": "secure-boot"})
        SubElement(system, "nvram").text = self.nvram_path

    def write_cpu(self, cpu: Element) -> None:
        if self.topology is not None:
            names = ("sockets", "cores", "threads")
            values = zip(names, map(str, self.topology), strict=True)
            cpu.insert(0, Element("topology", dict(values)))
            if (model := cpu.find("model")) is not None:  # libvirt's order: the model is first
                cpu.remove(model)
                cpu.insert(0, model)

    def write_clock(self, domain: Element) -> None:
        """Windows takes the hardware's clock for local time."""
        SubElement(domain, "clock", {"offset": "localtime" if self.is_windows else "utc"})

    def write_cpu_quota(self, domain: Element) -> None:
        found = {
            CPU_QUOTAS[name]: value for name, value in self.quotas.items() if name in CPU_QUOTAS
        }
        if not found:
            return
        tune = domain.find("cputune")
        tune = SubElement(domain, "cputune") if tune is None else tune
        for name, value in sorted(found.items()):
            SubElement(tune, name).text = value

    def write_disk_quota(self, disk: Element) -> None:
        found = {
            name.removeprefix("disk_"): value
            for name, value in self.quotas.items()
            if name in DISK_QUOTAS
        }
        if found:
            tune = SubElement(disk, "iotune")
            for name, value in sorted(found.items()):
                SubElement(tune, name).text = value

    def write_vif_quota(self, interface: Element) -> None:
        bandwidth = None
        for way in ("inbound", "outbound"):
            values = dict(self._vif_quota(way))
            if "average" in values:
                bandwidth = SubElement(interface, "bandwidth") if bandwidth is None else bandwidth
                SubElement(bandwidth, way, values)

    def _vif_quota(self, way: str) -> Iterator[tuple[str, str]]:
        for what in ("average", "peak", "burst"):
            value = self.quotas.get(f"vif_{way}_{what}")
            if value is not None:
                yield what, value

    def write_devices(self, devices: Element) -> None:
        """Add random numbers, video, watchdog and the channel of the guest agent."""
        if self.has_random_numbers:
            rng = SubElement(devices, "rng", {"model": VIRTIO})
            SubElement(rng, "backend", {"model": "random"}).text = "/dev/urandom"
        if self.video_model is not None:
            video = SubElement(devices, "video")
            SubElement(video, "model", {"type": self.video_model})
        if self.watchdog_action is not None:
            attributes = {"model": _WATCHDOG_MODEL, "action": self.watchdog_action}
            SubElement(devices, "watchdog", attributes)
        if self.has_agent:
            channel = SubElement(devices, "channel", {"type": "unix"})
            SubElement(channel, "target", {"type": VIRTIO, "name": AGENT_CHANNEL})


NO_HARDWARE = GuestHardware()


def check(instance: Instance) -> None:
    """Raise BadImage for what a new guest cannot have, by the name of the property."""
    for problem in guest_properties.problems(instance.flavor, instance.image):
        raise BadImage(problem)


def _possible_topology(instance: Instance) -> tuple[int, int, int] | None:
    try:
        return guest_cpu_topology.of(instance.flavor, instance.image)
    except ValueError:
        return None
