"""Queue names that are the same after a restart and never those of another living process.

oslo.messaging's queue manager names reply and fanout queues after a host and a process name, and
counts within one process group only: two services of one kind on one machine would share, and
steal, their replies. So each process holds a numbered slot under the lock directory for as long as
it lives.
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


def outlive_the_group_leader() -> None:
    """Let queues be named in a process group whose leader has ended.

    So it is for what a script leaves running in the background. oslo.messaging knows a service by
    its group and by when the leader started, which is to tell a number used again; without a leader
    the number alone has to do.
    """
    amqpdriver.QManager._service_identity = staticmethod(_service_identity)


def _service_identity() -> tuple[int, int]:
    with contextlib.suppress(FileNotFoundError):
        group, started = _identity()
        return group, started
    return os.getpgrp(), 0


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
