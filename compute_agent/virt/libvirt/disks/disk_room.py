"""Room for copies of disks. A full file system pauses every guest that writes to it."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import MIB

SPARE_PART = 0.05
"""Of the bytes of a copy, that stays free beside it: guests write meanwhile."""
BLOCK_BYTES = 512
"""Unit of what stat says that a file takes."""
_FULL = ("No space left on device", "Disk quota exceeded")


def used_bytes(path: Path) -> int:
    """Return what a file takes; holes take no room. Raises OSError."""
    return path.stat().st_blocks * BLOCK_BYTES


def check(copies: Sequence[tuple[Path, int]]) -> None:
    """Raise DiskError if copies of so many bytes in these directories would fill a file system.

    Raises OSError.
    """
    needed, places = Counter[int](), dict[int, Path]()
    for directory, size in copies:
        device = directory.stat().st_dev
        needed[device] += size
        places.setdefault(device, directory)
    for device, size in needed.items():
        free = shutil.disk_usage(places[device]).free
        if size * (1 + SPARE_PART) > free:
            raise DiskError(
                f"a copy of its disks takes up to {_mib(size)} MiB, and {places[device]} has "
                f"{_mib(free)} MiB free; make room on this host, or move the server to another one"
            )


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
