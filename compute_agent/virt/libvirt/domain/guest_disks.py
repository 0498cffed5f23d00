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
    """How programs and QEMU reach a Ceph cluster; ``secret_uuid`` is of libvirt's secret."""

    conf: str
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
            SubElement(source, "config", {"file": self.ceph.conf})
        target = {"dev": f"{BUSES[bus]}{'abcdefgh'[number]}", "bus": bus}
        SubElement(element, "target", target)
        return element
