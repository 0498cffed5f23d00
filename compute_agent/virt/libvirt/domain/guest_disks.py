"""Disks of a guest as libvirt attaches them: files, block devices, and images of Ceph. Pure."""

import dataclasses
import enum
from xml.etree.ElementTree import Element, SubElement

BUSES = {"virtio": "vd", "scsi": "sd", "sata": "sd"}
"""Supported disk buses, and the prefix of their device names."""


class DiskKind(enum.StrEnum):
    """Type of a disk's source, in libvirt's words."""

    FILE = "file"
    BLOCK = "block"
    NETWORK = "network"


SOURCE_ATTRIBUTES = {DiskKind.FILE: "file", DiskKind.BLOCK: "dev", DiskKind.NETWORK: "name"}


@dataclasses.dataclass(frozen=True, slots=True)
class CephAccess:
    """How QEMU reaches a Ceph cluster: monitors (HOST or HOST:PORT), user, and libvirt's secret."""

    monitors: tuple[str, ...] = ()
    user: str | None = None
    secret_uuid: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GuestDisk:
    """A disk; ``format`` is raw or qcow2.

    ``path`` is that of a file or a block device, or ``POOL/IMAGE`` with ``ceph``. ``cache`` is
    libvirt's cache mode, None for the hypervisor's default.
    """

    path: str
    format: str
    kind: DiskKind = DiskKind.FILE
    cache: str | None = None
    ceph: CephAccess | None = None

    def write(self, devices: Element, bus: str, number: int) -> Element:
        """Add the disk to a domain's devices, and return its element."""
        element = SubElement(devices, "disk", {"type": self.kind, "device": "disk"})
        driver = SubElement(element, "driver", {"name": "qemu", "type": self.format})
        if self.cache is not None:
            driver.set("cache", self.cache)
        if self.ceph is not None and self.ceph.user and self.ceph.secret_uuid:
            auth = SubElement(element, "auth", {"username": self.ceph.user})
            SubElement(auth, "secret", {"type": "ceph", "uuid": self.ceph.secret_uuid})
        source = SubElement(element, "source", {SOURCE_ATTRIBUTES[self.kind]: self.path})
        if self.ceph is not None:
            source.set("protocol", "rbd")
            for monitor in self.ceph.monitors:
                SubElement(source, "host", _host(monitor))
        target = {"dev": f"{BUSES[bus]}{'abcdefgh'[number]}", "bus": bus}
        SubElement(element, "target", target)
        return element


def _host(monitor: str) -> dict[str, str]:
    """Return the attributes of a monitor; an IPv6 address has brackets, with or without a port."""
    name, _, port = monitor.rpartition(":")
    if not name or not port.isdecimal() or name.endswith("]") != name.startswith("["):
        return {"name": monitor.strip("[]")}
    return {"name": name.strip("[]"), "port": port}
