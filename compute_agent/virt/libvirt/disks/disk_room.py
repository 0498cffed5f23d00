"""Room for copies of disks. A full file system pauses every guest that writes to it."""

import contextlib
import itertools
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compute_agent.virt.libvirt.disks.qemu_img import BLOCK_BYTES, DiskError
from compute_agent.virt.libvirt.disks.storage import MIB, DiskStorage

SPARE_PART = 0.05
"""Of the bytes of a copy, that stays free beside it: guests write meanwhile."""
_FULL = ("No space left on device", "Disk quota exceeded")


def used_bytes(path: Path) -> int:
    """Return what a file takes; holes take no room. Raises OSError."""
    return path.stat().st_blocks * BLOCK_BYTES


Copies = Sequence[tuple[Path, int]]
"""Files that are to be made, or directories for such, and how many bytes."""


class DiskRoom:
    """Room of an agent's file systems: what copies under way still need is not free. Thread-safe.

    Users have snapshots made, whose copies no scheduler counts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[Copies] = []
        self._arriving: dict[str, Copies] = {}

    def check(self, copies: Copies) -> None:
        """Raise DiskError if copies would fill a file system. Raises OSError."""
        with self._lock:
            self._check(copies)

    @contextlib.contextmanager
    def held(self, copies: Copies) -> Iterator[None]:
        """Keep the room for copies meanwhile. Raises as ``check``."""
        with self._lock:
            self._check(copies)
            self._held.append(copies)
        try:
            yield
        finally:
            with self._lock:
                self._held.remove(copies)

    def keep(self, instance_uuid: str, copies: Copies) -> None:
        """Keep the room for a guest that is to arrive until ``release``. Raises as ``check``."""
        with self._lock:
            self._arriving.pop(instance_uuid, None)
            self._check(copies)
            self._arriving[instance_uuid] = copies

    def keep_again(self, instance_uuid: str, copies: Copies) -> None:
        """Keep the room that an earlier agent kept: its guest is on the way, so without a check."""
        with self._lock:
            self._arriving[instance_uuid] = copies

    def release(self, instance_uuid: str) -> None:
        """End ``keep``: the guest has arrived, or will not."""
        with self._lock:
            self._arriving.pop(instance_uuid, None)

    def _check(self, copies: Copies) -> None:
        needed, places = Counter[int](), dict[int, Path]()
        for path, size in copies:
            device = _directory(path).stat().st_dev
            needed[device] += size
            places.setdefault(device, _directory(path))
        for device, size in needed.items():
            free = shutil.disk_usage(places[device]).free - self._unwritten_bytes(device)
            if size and size * (1 + SPARE_PART) > free:
                raise DiskError(
                    f"a copy of its disks takes up to {_mib(size)} MiB, and {places[device]} has "
                    f"{_mib(max(0, free))} MiB free; make room on this host, or move the server to "
                    "another one"
                )

    def _unwritten_bytes(self, device: int) -> int:
        """Return what copies under way have yet to write to a file system."""
        total = 0
        held = itertools.chain(self._held, self._arriving.values())
        for path, size in itertools.chain.from_iterable(held):
            with contextlib.suppress(OSError):  # its directory is gone, and so is the copy
                if _directory(path).stat().st_dev == device:
                    total += max(0, int(size * (1 + SPARE_PART)) - _written_bytes(path))
        return total


def _written_bytes(path: Path) -> int:
    """Return what a copy has written so far; one into a directory makes all that is there."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(used_bytes(each) for each in files if each.is_file())


def check_storage(storage: DiskStorage, needed: int) -> None:
    """Raise DiskError if disks take more than a storage outside of directories has."""
    free = storage.room(Path()).free_bytes
    if needed > free:
        raise DiskError(
            f"its disks take {_mib(needed)} MiB, and {storage.name} has {_mib(free)} MiB free; "
            "make room, or move the server to another host"
        )


def _directory(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def explained(said: str, places: Mapping[str, Path]) -> str:
    """Return a message about a full file system with what is free; any other as it is.

    ``places`` are the directories of a host, by the options that name them.
    """
    if not any(each in said for each in _FULL):
        return said
    free = (f"{name} {_free_mib(path)} MiB" for name, path in places.items() if path.is_dir())
    return f"{said} (free: {', '.join(free)}; make room on this host)"


def _free_mib(path: Path) -> int:
    return _mib(shutil.disk_usage(path).free)


def _mib(size: int) -> int:
    return -(-size // MIB)
