"""How much of the disk a workload's files take, measured repeatedly.

Loaded by the shim, so only with the standard library. The kernel limits each file (RLIMIT_FSIZE);
for all together it has quotas, if the file system was mounted with them, so they are measured.
"""

import contextlib
import errno
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

LOOK_SECONDS_MIN = 2.0
LOOK_SECONDS_MAX = 60.0
FILLING_BYTES_PER_SECOND = 1024**3
"""How fast a workload may fill its disk: what is left decides when to measure again."""
SLICE_SECONDS = 0.02
BREAK_SECONDS = 0.2
"""Between slices of a long measurement: the shim has output to copy, and its CPU is the host's."""
FILE_BYTES_MIN = 4096
"""What a file counts at least: each takes an inode, and a file system has a number of them."""
_BLOCK_BYTES = 512


class DiskUse:
    """The space that files below ``directories`` take, compared with ``bytes_max``; None: no limit.

    Files that were deleted count as long as a process has them open that descends from ``root``.
    """

    def __init__(
        self,
        directories: Sequence[str],
        bytes_max: int | None,
        root: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directories = directories
        self._bytes_max = bytes_max
        self._root = root
        self._now = now
        self._look_at = 0.0
        self._sizes: Iterator[float] | None = None
        self._used = 0.0

    def is_exceeded(self) -> bool:
        """Measure for a while, if it is time; return whether the files take more than allowed."""
        if self._bytes_max is None or self._now() < self._look_at:
            return False
        if self._sizes is None:
            self._used, self._sizes = 0.0, self._measure()
        until = self._now() + SLICE_SECONDS
        for size in self._sizes:
            self._used += size
            if self._used > self._bytes_max:
                return True
            if self._now() >= until:
                self._look_at = self._now() + BREAK_SECONDS
                return False
        until_full = (self._bytes_max - self._used) / FILLING_BYTES_PER_SECOND
        wait = max(LOOK_SECONDS_MIN, min(LOOK_SECONDS_MAX, until_full))
        self._look_at, self._sizes = self._now() + wait, None
        return False

    def seconds(self) -> float | None:
        """Return the seconds until the next measurement; None means never."""
        return None if self._bytes_max is None else max(0.0, self._look_at - self._now())

    def _measure(self) -> Iterator[float]:
        """Yield the sizes of all files, each once; infinity for what cannot be counted."""
        seen: set[tuple[int, int]] = set()
        devices: set[int] = set()
        for directory in self._directories:
            with contextlib.suppress(FileNotFoundError):
                devices.add(os.lstat(directory).st_dev)
        for found in (*map(_below, self._directories), _deleted(_descendants(self._root), devices)):
            for status in found:
                if status is None:
                    yield math.inf
                    continue
                if status.st_nlink != 1:
                    if (status.st_dev, status.st_ino) in seen:
                        continue
                    seen.add((status.st_dev, status.st_ino))
                yield max(FILE_BYTES_MIN, status.st_blocks * _BLOCK_BYTES)


def _below(directory: str) -> Iterator[os.stat_result | None]:
    """Yield the status of all below a directory; None for a place that is too deep to be read."""
    waiting = [directory]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                yield entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    yield None


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a directory that may be gone."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        yield from entries


def _descendants(root: int) -> Iterator[int]:
    """Yield what descends from a process; nothing where the kernel lists no children."""
    waiting = [root]
    while waiting:
        for thread in _entries(f"/proc/{waiting.pop()}/task"):
            with contextlib.suppress(OSError):
                listed = Path(thread.path, "children").read_text(encoding="ascii")
                children = [int(pid) for pid in listed.split()]
                waiting += children
                yield from children


def _deleted(pids: Iterable[int], devices: set[int]) -> Iterator[os.stat_result]:
    """Yield the status of deleted files on ``devices`` that processes have open."""
    for pid in pids:
        for entry in _entries(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                status = entry.stat()
                is_file = stat.S_ISREG(status.st_mode) and status.st_dev in devices
                if is_file and not status.st_nlink:
                    yield status
