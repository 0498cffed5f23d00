"""Directory of a guest: its disks and its console log."""

import errno
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from armillary import private_files
from compute_agent.virt.instance_directories import open_own
from compute_agent.virt.libvirt.disks import disk_formats, hypervisor_access, qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.domain.domain_xml import GuestDisk
from objects.flavor import Flavor

LOG = logging.getLogger(__name__)

GIB = 1024**3
MIB = 1024**2
_CHUNK_BYTES = 64 * MIB
QCOW2, RAW = "qcow2", "raw"
_ROOTS = {QCOW2: "disk.qcow2", RAW: "disk.raw"}
_EPHEMERAL, _SWAP = "ephemeral.raw", "swap.raw"
_CONSOLE, _EARLIER_CONSOLE = "console.log", "console.earlier.log"
CONSOLES = (_EARLIER_CONSOLE, _CONSOLE)
"""Console logs in order: what the guest wrote on hosts that it has left alive, and here."""
EARLIER_BYTES_MAX = 2 * MIB
"""Maximum size of what is kept of a console log from other hosts; the end is kept."""
_CONFIG_DRIVE = "config-drive.raw"
_NVRAM = "nvram.raw"
_BLOCK_BYTES = 512  # of what stat counts
_MAGIC_OF_QCOW2 = b"QFI\xfb"
_SIZE_OF_QCOW2 = slice(24, 32)  # bytes of the header with the disk's size
_BEGUN = ".begun"
"""Suffix of incomplete files."""


class InstanceFiles:
    """The files of one guest in its ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def uuid(self) -> str:
        return self.directory.name

    @property
    def console(self) -> Path:
        return self.directory / _CONSOLE

    @property
    def config_drive(self) -> Path:
        """The disk with what the guest is told. It moves with the guest, as all disks do."""
        return self.directory / _CONFIG_DRIVE

    @property
    def nvram(self) -> Path:
        """The variables of an UEFI firmware; moved with the disks, as all raw files are."""
        return self.directory / _NVRAM

    @property
    def exists(self) -> bool:
        return self.directory.is_dir()

    @property
    def root(self) -> GuestDisk | None:
        """The root disk, if it exists."""
        for disk_format, name in _ROOTS.items():
            if (self.directory / name).exists():
                return GuestDisk(str(self.directory / name), disk_format)
        return None

    def growth_bytes(self) -> int:
        """Return how many bytes the disks may still take; unreadable files count as complete."""
        names = (*_ROOTS.values(), _EPHEMERAL, _SWAP)
        return sum(_growth_bytes(self.directory / name) for name in names)

    def disks(self, flavor: Flavor) -> tuple[GuestDisk, ...]:
        """Return the disks of a guest with a flavor, root disk first. Raises DiskError."""
        root = self.root
        if root is None:
            raise DiskError("its root disk is missing")
        extra = [path for path, _ in self._extra_disks(flavor)]
        if self.config_drive.exists():
            extra.append(self.config_drive)
        return (root, *(GuestDisk(str(path), RAW) for path in extra))

    def make(self) -> None:
        """Create the directory. Raises DiskError."""
        try:
            hypervisor_access.make_directory(self.directory)
        except OSError as error:
            raise _failed(error) from error

    def create_root(self, image: ImageFile, flavor: Flavor, images_type: str) -> None:
        """Create the root disk from an image with the flavor's size; an existing one is kept.

        A flavor without a root disk uses the image's size. Raises DiskError.
        """
        if self.root is not None:
            return
        size = qemu_img.virtual_size(image.path, image.format)
        wanted = max(size, flavor.root_gb * GIB)
        path = self.directory / _ROOTS[images_type]
        begun = path.with_name(path.name + _BEGUN)
        try:
            begun.unlink(missing_ok=True)
            open(begun, "xb", opener=private_files.opener).close()
            if images_type == QCOW2 and image.is_temporary:
                qemu_img.copy(image.path, image.format, begun, QCOW2)
                if qemu_img.disk_size(begun, QCOW2) < wanted:
                    qemu_img.resize(begun, QCOW2, wanted)
            elif images_type == QCOW2:
                qemu_img.create_overlay(begun, image.path, image.format, wanted)
            else:
                _copy_raw(image, begun)
                qemu_img.resize(begun, RAW, wanted)
            begun.replace(path)
        except OSError as error:
            raise _failed(error) from error

    def create_extra(self, flavor: Flavor) -> None:
        """Create or grow the ephemeral and swap disks, of a guest that is off. Raises DiskError.

        A new ephemeral disk gets a file system, and swap is prepared for its size. What is on an
        ephemeral disk stays there; to use what it has grown by is left to the guest.
        """
        for path, size in self._extra_disks(flavor):
            try:
                present = path.stat().st_size if path.exists() else 0
                if present < size:
                    _make_extra(path, size, is_new=present == 0)
            except OSError as error:
                raise _failed(error) from error

    def fit(self, flavor: Flavor) -> None:
        """Grow all disks to at least the flavor's sizes. Raises DiskError."""
        self.create_extra(flavor)
        self._grow_root(flavor)

    def remove_extra_but(self, flavor: Flavor) -> None:
        """Remove the ephemeral and swap disks that a flavor does not have. Raises OSError."""
        kept = {path.name for path, _ in self._extra_disks(flavor)}
        for name in {_EPHEMERAL, _SWAP} - kept:
            (self.directory / name).unlink(missing_ok=True)

    def _grow_root(self, flavor: Flavor) -> None:
        """Grow the root disk to the flavor's size; it never shrinks."""
        root = self.root
        if root is None:
            raise DiskError("its root disk is missing")
        wanted = flavor.root_gb * GIB
        if qemu_img.disk_size(Path(root.path), root.format) < wanted:
            qemu_img.resize(Path(root.path), root.format, wanted)

    def last_console_lines(self, lines: int | None) -> str:
        """Return the end of the console log; empty if there is none. Raises OSError."""
        text = b"".join(map(self._read, CONSOLES)).decode("utf-8", "replace")
        if lines is None:
            return text
        return "".join(text.splitlines(keepends=True)[-lines:]) if lines > 0 else ""

    def keep_earlier_console(self, fetched: Sequence[Path]) -> None:
        """Keep the console logs of a guest's former host, and remove these. Raises OSError."""
        text = b"".join(map(_content, fetched))
        with private_files.replacing(self.directory / _EARLIER_CONSOLE) as file:
            file.write(text[-EARLIER_BYTES_MAX:])
        for path in fetched:
            path.unlink(missing_ok=True)

    def _read(self, name: str) -> bytes:
        return _content(self.directory / name)

    def remove(self) -> None:
        """Remove the directory; a missing one is ignored. Raises OSError."""
        if self.exists:
            shutil.rmtree(self.directory)

    def _extra_disks(self, flavor: Flavor) -> Iterator[tuple[Path, int]]:
        if flavor.ephemeral_gb:
            yield self.directory / _EPHEMERAL, flavor.ephemeral_gb * GIB
        if flavor.swap_mb:
            yield self.directory / _SWAP, flavor.swap_mb * MIB


def _content(path: Path) -> bytes:
    """Return the content of a file; empty if there is none. Raises OSError."""
    try:
        with open_own(path) as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _make_extra(path: Path, size: int, *, is_new: bool) -> None:
    """Create or grow an ephemeral or swap disk. Raises DiskError, OSError."""
    draft = path.with_name(path.name + _BEGUN) if is_new else path
    with open(draft, "ab", opener=private_files.opener) as file:
        file.truncate(size)
    if path.name == _SWAP:
        disk_formats.make_swap(draft)
    elif is_new:
        disk_formats.make_file_system(draft)
    draft.replace(path)


def _copy_raw(image: ImageFile, path: Path) -> None:
    if image.format == RAW:
        copy_sparsely(image.path, path)
    else:
        qemu_img.convert(image.path, image.format, path)


def _failed(error: OSError) -> DiskError:
    return DiskError(f"{error.filename or 'a disk'}: {error.strerror}")


def copy_sparsely(source: Path, path: Path) -> None:
    """Copy a file with its holes, replacing ``path``. Raises OSError."""
    with source.open("rb") as reader, open(path, "wb", opener=private_files.opener) as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        start = 0
        while (start := _next_data(reader.fileno(), start)) < size:
            end = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
            _copy_range(reader.fileno(), writer.fileno(), start, end)
            start = end


def _next_data(descriptor: int, start: int) -> int:
    """Return the start of the next data, or the end of the file if there are none."""
    try:
        return os.lseek(descriptor, start, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return os.fstat(descriptor).st_size


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    os.lseek(writer, start, os.SEEK_SET)
    offset = start
    while offset < end:
        done = os.sendfile(writer, reader, offset, min(_CHUNK_BYTES, end - offset))
        if done == 0:  # the file was truncated in the meantime
            raise OSError(errno.EIO, "the file was truncated while it was copied")
        offset += done


def _growth_bytes(path: Path) -> int:
    try:
        with open_own(path) as file:
            found = os.fstat(file.fileno())
            header = file.read(_SIZE_OF_QCOW2.stop)
    except OSError:
        return 0
    is_qcow2 = header.startswith(_MAGIC_OF_QCOW2) and len(header) == _SIZE_OF_QCOW2.stop
    size = int.from_bytes(header[_SIZE_OF_QCOW2]) if is_qcow2 else found.st_size
    return max(0, size - found.st_blocks * _BLOCK_BYTES)
