"""Queue names that are the same after a restart and never those of another living process.

oslo.messaging's queue manager names reply and fanout queues after a host and a process name, and
counts within one process group only: two services of one kind on one machine would share, and
steal, their replies. So each process holds a numbered slot under the lock directory for as long as
it lives.
"""

from __future__ import annotations

import fcntl
import itertools
import os
from pathlib import Path

_SLOTS_MAX = 4096

_held: dict[tuple[int, Path], tuple[int, str]] = {}
"""Process id and base path -> open file and name: a slot belongs to the process, not to a bus."""


def claim_process_name(base: str, lock_directory: Path) -> str:
    """Return ``base-N`` with the lowest N that no other living process has. Raises OSError."""
    key = (os.getpid(), lock_directory / base)
    if key in _held:
        return _held[key][1]
    lock_directory.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        if number >= _SLOTS_MAX:
            raise OSError(f"all {_SLOTS_MAX} slots of {base} under {lock_directory} are taken")
        descriptor = os.open(
            lock_directory / f"{base}-{number}.slot", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        _held[key] = (descriptor, f"{base}-{number}")
        return _held[key][1]
    raise AssertionError("unreachable")
