"""Directory of a guest, with its console log, and its disks wherever they are kept."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath

from armillary.files import private_files
from compute_agent.virt.instance_directories import open_own
from compute_agent.virt.libvirt.disks import hypervisor_access, programs, qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import GIB, MIB, DiskStorage, Role
from compute_agent.virt.libvirt.domain.guest_disks import GuestDisk
from compute_agent.virt.libvirt.ownership import Ownership
from objects.flavor import Flavor

_CONSOLE, _EARLIER_CONSOLE = "console.log", "console.earlier.log"
CONSOLES = (_EARLIER_CONSOLE, _CONSOLE)
"""Console logs in order: what the guest wrote on hosts that it has left alive, and here."""
EARLIER_BYTES_MAX = 2 * MIB
"""Maximum size of what is kept of a console log from other hosts; the end is kept."""
_NVRAM = "nvram.raw"
_FILLED_BY = {
    Role.EPHEMERAL: ("mkfs.ext4", "-q", "-F", "-L", "ephemeral0"),
    Role.SWAP: ("mkswap", "-q", "-L", "swap0"),
}
"""Programs that make the file system of an empty disk, with the label by which a guest finds it."""


class InstanceFiles:
    """The files of one guest in its ``directory``, and its disks in a storage."""

    def __init__(self, directory: Path, storage: DiskStorage) -> None:
        self.directory = directory
        self.storage = storage

    @property
    def uuid(self) -> str:
        return self.directory.name

    @property
    def console(self) -> Path:
        return self.directory / _CONSOLE

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
        return self.storage.find(self.directory, Role.ROOT)

    def need_root(self) -> GuestDisk:
        """Return the root disk. Raises DiskError if it is missing."""
        if (root := self.root) is None:
            raise self._missing(Role.ROOT)
        return root

    def _missing(self, role: Role) -> DiskError:
        storage = self.storage
        place = self.directory if storage.is_in_directory else f"the storage {storage.name}"
        name = "root" if role is Role.ROOT else role
        return DiskError(
            f"its {name} disk is missing in {place}; put it back there, or rebuild the server"
        )

    def copy_bytes(self, *roles: Role) -> int:
        """Return how many bytes copies of disks take at most; 0 where that is unknown."""
        return sum(self.storage.copy_bytes(self.directory, role) for role in roles)

    def growth_bytes(self) -> int:
        """Return how many bytes the disks may still take of what is free."""
        return self.storage.growth_bytes(self.directory)

    @property
    def rescue(self) -> GuestDisk | None:
        """The disk that a guest boots from while it is rescued, if it exists."""
        return self.storage.find(self.directory, Role.RESCUE)

    def is_rescue(self, path: str) -> bool:
        """Return whether a disk of a domain is the rescue disk, which may be gone by now."""
        outside = self.storage.volume_name(self.directory, Role.RESCUE)
        return PurePath(path).name in (outside, f"{Role.RESCUE}.raw")

    def disks(self, flavor: Flavor) -> tuple[GuestDisk, ...]:
        """Return the disks of a guest with a flavor, the one that it boots from first.

        That is its root disk, which comes second behind a rescue disk. Raises DiskError.
        """
        root = self.need_root()
        rescue = self.rescue
        found = [root] if rescue is None else [rescue, root]
        for role, _ in _extra_disks(flavor):
            disk = self.storage.find(self.directory, role)
            if disk is None:
                raise self._missing(role)
            found.append(disk)
        drive = self.storage.find(self.directory, Role.CONFIG_DRIVE)
        return (*found, drive) if drive is not None else tuple(found)

    def present(self) -> Iterator[tuple[Role, GuestDisk]]:
        """Yield the complete disks."""
        for role in Role:
            disk = self.storage.find(self.directory, role)
            if disk is not None:
                yield role, disk

    def fence(self) -> None:
        """Keep a hypervisor elsewhere that has the disks open from writing. Raises DiskError."""
        self.storage.fence(disk for _, disk in self.present())

    def read_note(self) -> Ownership:
        """Return the note about their owner; without one, any host owns them. Raises OSError."""
        return Ownership.from_text(self.storage.read_note(self.directory))

    def write_note(self, note: Ownership) -> None:
        """Replace the note about their owner. Raises DiskError, OSError."""
        self.storage.write_note(self.directory, note.to_text())

    def make(self) -> None:
        """Create the directory. Raises DiskError."""
        try:
            hypervisor_access.make_directory(self.directory)
        except OSError as error:
            raise _failed(error) from error

    def create_root(self, image: ImageFile, flavor: Flavor) -> None:
        """Create the root disk from an image with the flavor's size; an existing one is kept.

        A flavor without a root disk uses the image's size. Raises DiskError.
        """
        if self.root is not None:
            return
        with _converted():
            self.storage.make_bootable(self.directory, Role.ROOT, image, _root_size(image, flavor))

    def new_bytes(self, image: ImageFile, flavor: Flavor) -> int:
        """Return how many bytes the disks of a new guest take at once. Raises DiskError."""
        root = self.storage.new_root_bytes(image, _root_size(image, flavor))
        return root + sum(self.storage.empty_bytes(size) for _role, size in _extra_disks(flavor))

    def create_rescue(self, image: ImageFile) -> None:
        """Create the rescue disk, as large as its image; an existing one is kept.

        Raises DiskError.
        """
        if self.rescue is not None:
            return
        size = qemu_img.virtual_size(image.path, image.format)
        with _converted():
            self.storage.make_bootable(self.directory, Role.RESCUE, image, size)

    def remove_rescue(self) -> None:
        """Remove the rescue disk; a missing one is ignored. Raises DiskError, OSError."""
        self.storage.remove(self.directory, [Role.RESCUE])

    def create_extra(self, flavor: Flavor) -> None:
        """Create or grow the ephemeral and swap disks, of a guest that is off. Raises DiskError.

        A new ephemeral disk gets a file system. What is on it stays there when it grows; to use the
        rest is left to the guest. Swap is made again in its new size, which may be smaller.
        """
        for role, size in _extra_disks(flavor):
            disk = self.storage.find(self.directory, role)
            found = 0 if disk is None else self.storage.size(disk)
            is_too_large = role is Role.SWAP and found >= size + self.storage.rounds_up_bytes
            if found >= size and not is_too_large:
                continue
            with _converted():
                if disk is None or role is Role.SWAP:
                    self.storage.make(self.directory, role, size, _filler(role))
                else:
                    self.storage.grow(disk, size)

    def create_config_drive(self, content: Callable[[], bytes]) -> None:
        """Create the disk with what the guest is told; an existing one is kept. Raises DiskError.

        It moves with the guest, as all disks do.
        """
        if self.storage.find(self.directory, Role.CONFIG_DRIVE) is not None:
            return
        data = content()

        def fill(path: Path) -> None:
            with path.open("r+b") as file:
                file.write(data)

        with _converted():
            self.storage.make(self.directory, Role.CONFIG_DRIVE, len(data), fill)

    def fit(self, flavor: Flavor) -> None:
        """Grow all disks to at least the flavor's sizes. Raises DiskError."""
        self._grow_root(flavor)
        self.create_extra(flavor)

    def remove_extra_but(self, flavor: Flavor) -> None:
        """Remove the ephemeral and swap disks that a flavor lacks. Raises DiskError, OSError."""
        kept = {role for role, _ in _extra_disks(flavor)}
        self.storage.remove(self.directory, {Role.EPHEMERAL, Role.SWAP} - kept)

    def _grow_root(self, flavor: Flavor) -> None:
        """Grow the root disk to the flavor's size; it never shrinks."""
        root = self.need_root()
        wanted = flavor.root_gb * GIB
        if self.storage.size(root) < wanted:
            self.storage.grow(root, wanted)

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
        """Remove disks and directory; missing ones are ignored. Raises DiskError, OSError."""
        self.storage.remove(self.directory, Role)
        self.storage.remove_note(self.directory)
        if self.exists:
            shutil.rmtree(self.directory)

    def leave(self) -> None:
        """Remove what this host alone has of a guest whose disks now belong to another host.

        Raises OSError.
        """
        if self.exists and not self.storage.is_in_directory:
            shutil.rmtree(self.directory)


def _root_size(image: ImageFile, flavor: Flavor) -> int:
    return max(qemu_img.virtual_size(image.path, image.format), flavor.root_gb * GIB)


def _extra_disks(flavor: Flavor) -> Iterator[tuple[Role, int]]:
    if flavor.ephemeral_gb:
        yield Role.EPHEMERAL, flavor.ephemeral_gb * GIB
    if flavor.swap_mb:
        yield Role.SWAP, flavor.swap_mb * MIB


def _content(path: Path) -> bytes:
    """Return the content of a file; empty if there is none. Raises OSError."""
    try:
        with open_own(path) as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _filler(role: Role) -> Callable[[Path], None]:
    def fill(path: Path) -> None:
        programs.run(*_FILLED_BY[role], str(path))

    return fill


@contextlib.contextmanager
def _converted() -> Iterator[None]:
    """Convert errors of the operating system to DiskError."""
    try:
        yield
    except OSError as error:
        raise _failed(error) from error


def _failed(error: OSError) -> DiskError:
    return DiskError(f"{error.filename or 'a disk'}: {error.strerror}")
