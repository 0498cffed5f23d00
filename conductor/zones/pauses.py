"""What is looked at again and again, with pauses that grow: reservations that wait for zones."""

from __future__ import annotations

import threading
from collections.abc import Callable

from conductor.leases import Lease

LOOK_SECONDS = 0.1
"""So often somebody has to ask what is due."""

_PAUSE_FIRST_SECONDS = 0.1
_PAUSE_MAX_SECONDS = 2.0
_GROWTH = 1.3


class Pauses:
    """Leases in hand, each with the moment when it is to be worked on again. Threads share it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._pauses: dict[Lease, float] = {}
        self._due_at: dict[Lease, float] = {}
        self._guard = threading.Lock()

    def add(self, lease: Lease) -> None:
        """Have a pause, longer than the last one of this lease."""
        with self._guard:
            pause = self._pauses.get(lease, _PAUSE_FIRST_SECONDS)
            self._pauses[lease] = min(pause * _GROWTH, _PAUSE_MAX_SECONDS)
            self._due_at[lease] = self._now() + pause

    def forget(self, lease: Lease) -> None:
        """Let its next pause be a short one."""
        with self._guard:
            self._pauses.pop(lease, None)

    def due(self) -> list[Lease]:
        """Return those whose pause is over, and keep them no longer."""
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
