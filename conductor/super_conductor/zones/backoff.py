"""Backoff of reservations that wait for other zones."""

from __future__ import annotations

import threading
from collections.abc import Callable

from conductor.common.leases import Lease

POLL_SECONDS = 0.1
"""Interval at which ``due`` has to be polled."""

_PAUSE_FIRST_SECONDS = 0.1
_PAUSE_MAX_SECONDS = 2.0
_GROWTH = 1.3


class Backoff:
    """Leases that are waiting, each with the time when its work is due again. Thread-safe."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seconds: dict[Lease, float] = {}
        self._due_at: dict[Lease, float] = {}
        self._guard = threading.Lock()

    def add(self, lease: Lease) -> None:
        """Schedule the lease again, after a longer pause than the last one."""
        with self._guard:
            pause = self._seconds.get(lease, _PAUSE_FIRST_SECONDS)
            self._seconds[lease] = min(pause * _GROWTH, _PAUSE_MAX_SECONDS)
            self._due_at[lease] = self._now() + pause

    def forget(self, lease: Lease) -> None:
        """Reset the backoff of a lease."""
        with self._guard:
            self._seconds.pop(lease, None)

    def due(self) -> list[Lease]:
        """Remove and return the leases whose pause is over."""
        now = self._now()
        with self._guard:
            due = [
                lease
                for lease, due_at in self._due_at.items()
                if not now < due_at <= now + _PAUSE_MAX_SECONDS  # a clock may be set back
            ]
            for lease in due:
                del self._due_at[lease]
        return due
