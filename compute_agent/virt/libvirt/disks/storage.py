"""Storage of guests' disks: files in their directories, logical volumes, or images of Ceph."""

import abc
import dataclasses
import enum
from collections.abc import Callable, Iterable
from pathlib import Path

from armillary.files import private_files
from compute_agent.virt.libvirt.disks import qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.domain.guest_disks import GuestDisk

NOTE = "owner.json"
GIB = 1024**3
MIB = 1024**2


class Role(enum.StrEnum):
    """Disk of a guest, by what it is for."""

    ROOT = "disk"
    EPHEMERAL = "ephemeral"
    SWAP = "swap"
    CONFIG_DRIVE = "config-drive"
    RESCUE = "rescue"


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """Size of a storage, and what is free of it."""

    total_bytes: int
    free_bytes: int


class DiskStorage(abc.ABC):
    """Keeps the disks of a host's guests, each named by its guest's directory and a role.

    A disk is made as a draft and gets its name when it is complete, so that a build that is
    repeated finds complete disks only. All methods raise DiskError and OSError.
    """

    name: str
    """Kind of the storage. A guest moves between hosts with the same one."""

    is_in_directory = False
    """Whether the disks are files in their guest's directory, and shared exactly if that is."""

    copy_seconds = qemu_img.COPY_SECONDS
    """Maximum duration of a copy of a disk."""

    rounds_up_bytes = 1
    """A disk may be larger than asked by fewer bytes than this."""

    def check(self) -> None:  # noqa: B027 - optional
        """Raise DiskError with a remedy if this host cannot use the storage."""

    @abc.abstractmethod
    def find(self, directory: Path, role: Role) -> GuestDisk | None:
        """Return a complete disk, or None."""

    @abc.abstractmethod
    def make_bootable(self, directory: Path, role: Role, image: ImageFile, size: int) -> None:
        """Make a root or rescue disk of ``size`` bytes from an image; it replaces the former."""

    def new_root_bytes(self, image: ImageFile, size: int) -> int:
        """Return how many bytes a root disk of ``size`` bytes takes once it is made of an image."""
        return qemu_img.content_bytes(image.path, image.format)

    def empty_bytes(self, size: int) -> int:
        """Return how many bytes an empty disk takes."""
        return 0

    def freed_bytes(self, directory: Path) -> int:
        """Return how many bytes become free at least if a guest's disks are removed."""
        return 0

    def draft_path(self, directory: Path, role: Role) -> Path:
        """Return the file that a disk grows in until it is complete; else the directory."""
        return directory

    @abc.abstractmethod
    def make(self, directory: Path, role: Role, size: int, fill: Callable[[Path], None]) -> None:
        """Make a raw disk of zeros that ``fill`` then writes to; an existing one is replaced."""

    @abc.abstractmethod
    def grow(self, disk: GuestDisk, size: int) -> None:
        """Grow a disk that is not in use."""

    @abc.abstractmethod
    def size(self, disk: GuestDisk) -> int:
        """Return the size of a disk in bytes, as its guest sees it."""

    @abc.abstractmethod
    def remove(self, directory: Path, roles: Iterable[Role]) -> None:
        """Remove disks of a guest with their drafts; missing ones are ignored."""

    def rename(self, directory: Path, new: Path) -> None:
        """Name disks outside of the directory, and their note, after another directory.

        What is not there is ignored, as it has its new name already.
        """
        for role in Role:
            self.rename_disk(directory, new, role)

    @abc.abstractmethod
    def rename_disk(self, directory: Path, new: Path, role: Role) -> None:
        """Rename a disk outside of the directory, if it exists."""

    def volume_name(self, directory: Path, role: Role) -> str:
        """Return the name of a disk outside of the directory."""
        return f"{directory.name}_{role}"

    @abc.abstractmethod
    def room(self, instances: Path) -> Room:
        """Return size and free space; ``instances`` is the directory of all guests."""

    def url(self, disk: GuestDisk) -> str:
        """Return a disk as QEMU's programs name it."""
        return disk.path

    # A note about the disks' owner is kept beside them, where all hosts that reach them see it.

    def read_note(self, directory: Path) -> str | None:
        """Return the text of the note, None if there is none."""
        try:
            return (directory / NOTE).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write_note(self, directory: Path, text: str) -> None:
        """Replace the note atomically."""
        private_files.write(directory / NOTE, text)

    def remove_note(self, directory: Path) -> None:
        """Remove the note; a missing one is ignored."""
        (directory / NOTE).unlink(missing_ok=True)

    def fence(self, disks: Iterable[GuestDisk]) -> None:  # noqa: B027 - files have QEMU's locks
        """Keep hypervisors that have disks open from writing; the guest is to run on this host."""

    def copy_bytes(self, directory: Path, role: Role) -> int:
        """Return how many bytes a copy of a disk takes at most; 0 where that is unknown."""
        return 0

    def growth_bytes(self, directory: Path) -> int:
        """Return how many bytes the disks of a guest may still take of what is free."""
        return 0


class CopiedStorage(DiskStorage):
    """Storage whose disks a guest may take along to another host as copies."""

    @abc.abstractmethod
    def make_empty(self, directory: Path, role: Role, disk_format: str, size: int) -> None:
        """Make a disk that a live migration fills."""
