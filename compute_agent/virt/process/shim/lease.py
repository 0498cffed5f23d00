"""Lease of a host's workloads, as their supervisors read it."""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

HELD_TICK_SECONDS = 0.2
LEASE_LOOK_SECONDS = 10.0
"""How often to look for a lease while there is none, or no agent."""
_READ_BYTES = 65536


def lease_now() -> float:
    """Return the time of leases, seconds since boot; it goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """A lease: a file with ``until`` (``lease_now``) and ``is_strict``, locked by its agent.

    The agent renews it. If it did not, although its process still exists, the process is stalled,
    and the host may have been given up. If the process is gone, the workload continues: agents are
    restarted and replaced while workloads run. With ``is_strict`` it does not, nor while there is
    the file ``unconfirmed``. Without a file that can be read there is no lease.
    """

    def __init__(self, path: str | None, unconfirmed: Path | None = None) -> None:
        self._path = path
        self._unconfirmed = unconfirmed
        self._look_at = 0.0
        self.is_over = False

    def look(self) -> None:
        """Read the lease if it is time to do so."""
        now = lease_now()
        if self._path is None or now < self._look_at:
            return
        until = self._until(self._path)
        self.is_over = now >= until
        self._look_at = now + HELD_TICK_SECONDS if self.is_over else until

    def seconds(self) -> float | None:
        """Return the seconds until the next check; None means never."""
        return None if self._path is None else max(0.0, self._look_at - lease_now())

    def _until(self, path: str) -> float:
        """Return until when it lasts, as far as can be said now."""
        later = lease_now() + LEASE_LOOK_SECONDS
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                has_agent = _is_locked(file)
                said = json.loads(os.read(file, _READ_BYTES))
                until = float(said["until"])
                is_new = self._unconfirmed is not None and self._unconfirmed.exists()
                is_strict = has_agent or is_new or said["is_strict"]
                return until if is_strict else max(until, later)
            finally:
                os.close(file)
        return later


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
