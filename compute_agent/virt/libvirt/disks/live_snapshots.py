"""Copy of a running guest's root disk as of one moment, while the guest continues.

QEMU mirrors the disk into a file of the guest's directory until both are the same; then the mirror
ends, and the file is as the disk was. With a guest agent, file systems are frozen for that moment.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.domain.guest_disks import SOURCE_ATTRIBUTES, GuestDisk

LOG = logging.getLogger(__name__)

PART = "snapshot.part"
POLL_SECONDS = 0.2


@contextlib.contextmanager
def copied(
    library: Any,
    domain: Any,
    root: GuestDisk,
    directory: Path,
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[GuestDisk]:
    """Lend a copy of the root disk of a running guest, without a backing file.

    It is given up after so many ``seconds``.

    Raises libvirtError (VIR_ERR_NO_SUPPORT where the hypervisor cannot), DiskError.
    """
    part = directory / PART
    clear(library, domain, root, directory)
    try:
        domain.blockCopy(
            _target(domain, root),
            _destination(part, root.format),
            flags=library.VIR_DOMAIN_BLOCK_COPY_TRANSIENT_JOB,
        )
        give_up_at = clock() + seconds
        while not _is_ready(domain, root):
            if clock() > give_up_at:
                raise DiskError(f"the copy was not complete within {seconds:.0f} s")
            sleep(POLL_SECONDS)
        with _frozen(library, domain):
            domain.blockJobAbort(_target(domain, root), 0)
        yield GuestDisk(str(part), root.format)
    finally:
        clear(library, domain, root, directory)


def clear(library: Any, domain: Any, root: GuestDisk, directory: Path) -> None:
    """End a copy, and remove it, as one whose agent died has left it."""
    part = directory / PART
    if part.exists():
        with contextlib.suppress(library.libvirtError, DiskError):  # no job is under way
            domain.blockJobAbort(_target(domain, root), 0)
        part.unlink(missing_ok=True)


def _is_ready(domain: Any, root: GuestDisk) -> bool:
    """Return whether disk and copy are the same. Raises DiskError when the copy has failed."""
    mirror = _attached(domain, root).find("mirror")
    if mirror is None:
        raise DiskError("the copy of its root disk has failed")
    return mirror.get("ready") == "yes"


def _target(domain: Any, root: GuestDisk) -> str:
    """Return the name of the root disk in its guest. Raises DiskError."""
    target = _attached(domain, root).find("target")
    return "" if target is None else target.get("dev", "")


def _attached(domain: Any, root: GuestDisk) -> Element:
    for disk in xml_text.parse(domain.XMLDesc(0)).iterfind("./devices/disk"):
        source = disk.find("source")
        if source is not None and source.get(SOURCE_ATTRIBUTES[root.kind]) == root.path:
            return disk
    raise DiskError("its root disk is not attached")


@contextlib.contextmanager
def _frozen(library: Any, domain: Any) -> Iterator[None]:
    """Have its agent write out all file systems and keep them so; most guests have no agent."""
    try:
        domain.fsFreeze()
    except library.libvirtError as error:
        LOG.debug("%s: file systems are not frozen: %s", domain.UUIDString(), error)
        yield
        return
    try:
        yield
    finally:
        domain.fsThaw()


def _destination(path: Path, disk_format: str) -> str:
    disk = Element("disk", {"type": "file"})
    SubElement(disk, "source", {"file": str(path)})
    SubElement(disk, "driver", {"type": disk_format})
    return xml_text.write(disk)
