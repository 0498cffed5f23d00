"""Queue names that survive a restart and are unique among running processes.

oslo.messaging's queue manager builds reply and fanout queue names from a host and a process name,
with a counter per process group: two services of one kind on one machine would share, and steal,
each other's replies. So each process locks a numbered slot in the lock directory while it runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
from pathlib import Path

from oslo_messaging._drivers import amqpdriver

_SLOTS_MAX = 4096

_held: dict[tuple[int, Path], tuple[int, str]] = {}
"""Process id and base path -> open file and name: a slot belongs to the process, not to a bus."""


_identity = amqpdriver.QManager._service_identity


def allow_missing_group_leader() -> None:
    """Allow queue names in a process group whose leader has ended.

    This is the case for processes that a script leaves in the background. oslo.messaging identifies
    a service by its process group and the leader's start time, which detects a reused group id.
    Without a leader only the group id is used.
    """
    amqpdriver.QManager._service_identity = staticmethod(_service_identity)


def _service_identity() -> tuple[int, int]:
    with contextlib.suppress(FileNotFoundError):
        group, started = _identity()
        return group, started
    return os.getpgrp(), 0


def claim_process_name(base: str, lock_directory: Path) -> str:
    """Return ``base-N`` with the lowest N that no other process holds. Raises OSError."""
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
