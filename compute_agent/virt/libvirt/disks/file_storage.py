"""Disks as files in their guests' directories."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from armillary.files import private_files
from compute_agent.virt.instance_directories import open_own
from compute_agent.virt.libvirt.disks import disk_room, qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.storage import MIB, CopiedStorage, Role, Room
from compute_agent.virt.libvirt.domain.guest_disks import GuestDisk

QCOW2, RAW = "qcow2", "raw"
_BEGUN = ".begun"
"""Suffix of drafts."""
_CHUNK_BYTES = 64 * MIB
_MAGIC_OF_QCOW2 = b"QFI\xfb"
_BASE_OF_QCOW2 = slice(8, 16), slice(16, 20)  # where the backing file's name is, and its length
_SIZE_OF_QCOW2 = slice(24, 32)  # bytes of the header with the disk's size
_NAME_BYTES_MAX = 1023  # of a backing file, says the format


class FileStorage(CopiedStorage):
    """Files ``ROLE.FORMAT``; ``root_format`` is that of new root disks, all others are raw.

    A root disk of the format qcow2 is an overlay on its image's file. ``cache`` is libvirt's cache
    mode for all of them.
    """

    name = "files"
    is_in_directory = True

    def __init__(self, root_format: str = RAW, cache: str | None = None) -> None:
        self._root_format = root_format
        self._cache = cache

    def find(self, directory: Path, role: Role) -> GuestDisk | None:
        for disk_format in (QCOW2, RAW) if role is Role.ROOT else (RAW,):
            path = _path(directory, role, disk_format)
            if path.exists():
                return GuestDisk(str(path), disk_format, cache=self._cache)
        return None

    def new_root_bytes(self, image: ImageFile, size: int) -> int:
        """Return what a copy of the image takes; an overlay takes nothing."""
        is_overlay = self._root_format == QCOW2 and not image.is_temporary
        return 0 if is_overlay else super().new_root_bytes(image, size)

    def freed_bytes(self, directory: Path) -> int:
        found = self.find(directory, Role.ROOT)
        return 0 if found is None else disk_room.used_bytes(Path(found.path))

    def draft_path(self, directory: Path, role: Role) -> Path:
        return _draft(self._new_path(directory, role))

    def _new_path(self, directory: Path, role: Role) -> Path:
        return _path(directory, role, self._root_format if role is Role.ROOT else RAW)

    def make_bootable(self, directory: Path, role: Role, image: ImageFile, size: int) -> None:
        path = self._new_path(directory, role)
        disk_format = path.suffix.removeprefix(".")
        begun = _new(path)
        if disk_format == RAW:
            _copy_raw(image, begun, self.copy_seconds)
            qemu_img.resize(begun, RAW, size)
        elif image.is_temporary:
            qemu_img.copy(image.path, image.format, begun, QCOW2, seconds=self.copy_seconds)
            if qemu_img.disk_size(begun, QCOW2) < size:
                qemu_img.resize(begun, QCOW2, size)
        else:
            qemu_img.create_overlay(begun, image.path, image.format, size)
        begun.replace(path)

    def make(self, directory: Path, role: Role, size: int, fill: Callable[[Path], None]) -> None:
        path = _path(directory, role, RAW)
        begun = _new(path)
        os.truncate(begun, size)
        fill(begun)
        begun.replace(path)

    def grow(self, disk: GuestDisk, size: int) -> None:
        qemu_img.resize(Path(disk.path), disk.format, size)

    def size(self, disk: GuestDisk) -> int:
        return qemu_img.disk_size(Path(disk.path), disk.format)

    def remove(self, directory: Path, roles: Iterable[Role]) -> None:
        for role in roles:
            for disk_format in (QCOW2, RAW):
                path = _path(directory, role, disk_format)
                path.unlink(missing_ok=True)
                _draft(path).unlink(missing_ok=True)

    def rename_disk(self, directory: Path, new: Path, role: Role) -> None:
        """Do nothing: it is in the directory."""

    def make_empty(self, directory: Path, role: Role, disk_format: str, size: int) -> None:
        """Make an empty file; one of the format qcow2 gets no backing file."""
        path = _path(directory, role, disk_format)
        with open(path, "wb", opener=private_files.opener) as file:
            file.truncate(0 if disk_format == QCOW2 else size)
        if disk_format == QCOW2:
            qemu_img.create(path, size)

    def room(self, instances: Path) -> Room:
        found = shutil.disk_usage(instances)
        return Room(found.total, found.free)

    def copy_bytes(self, directory: Path, role: Role) -> int:
        """Return what file and backing file have; holes take no room."""
        found = self.find(directory, role)
        if found is None:
            return 0
        files = [Path(found.path), *(bases_in(directory) if role is Role.ROOT else ())]
        return sum(disk_room.used_bytes(path) for path in files if path.exists())

    def growth_bytes(self, directory: Path) -> int:
        """Return how far the files may grow; unreadable ones count as complete."""
        paths = [_path(directory, Role.ROOT, QCOW2), *(_path(directory, r, RAW) for r in Role)]
        return sum(map(_growth_bytes, paths))


def bases_in(directory: Path) -> Iterator[Path]:
    """Yield the backing files of a guest's root disk, and of its draft. Raises OSError."""
    path = _path(directory, Role.ROOT, QCOW2)
    for each in (path, _draft(path)):
        with contextlib.suppress(FileNotFoundError), open_own(each) as file:
            header = file.read(_SIZE_OF_QCOW2.stop)
            start, length = (int.from_bytes(header[part]) for part in _BASE_OF_QCOW2)
            if header.startswith(_MAGIC_OF_QCOW2) and start:
                file.seek(start)
                yield directory / os.fsdecode(file.read(min(length, _NAME_BYTES_MAX)))


def _path(directory: Path, role: Role, disk_format: str) -> Path:
    return directory / f"{role}.{disk_format}"


def _draft(path: Path) -> Path:
    return path.with_name(path.name + _BEGUN)


def _new(path: Path) -> Path:
    """Create an empty draft of a file that its owner alone can read; return its path."""
    begun = _draft(path)
    begun.unlink(missing_ok=True)
    open(begun, "xb", opener=private_files.opener).close()
    return begun


def _copy_raw(image: ImageFile, path: Path, seconds: float) -> None:
    if image.format == RAW:
        copy_sparsely(image.path, path)
    else:
        qemu_img.convert(image.path, image.format, path, seconds=seconds)


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
    return max(0, size - found.st_blocks * qemu_img.BLOCK_BYTES)
