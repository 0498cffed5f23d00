"""Notifications that wait to be sent by a thread of their own: bounded, so that no work waits."""

from __future__ import annotations

import collections
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from armillary import measures
from armillary.log_once import OutageLog
from armillary.notifications.notification import Notification

LOG = logging.getLogger(__name__)

BATCH_SIZE_MAX = 200
GATHER_SECONDS = 0.02
"""A batch waits so long for company: a message for fifty events costs little more than for one."""


class Way(Protocol):
    """One way on which notifications leave the process."""

    name: str

    def send(self, notifications: Sequence[Notification]) -> None:
        """Send these, or raise what keeps it from that; it may take its time."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Outbox:
    """Hands batches to each way, in order. It starts its thread with the first notification."""

    def __init__(self, ways: Sequence[Way], *, size_max: int) -> None:
        self._ways = list(ways)
        self._size_max = size_max
        self._waiting: collections.deque[Notification] = collections.deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._overflow = OutageLog(LOG, "Room for more notifications")
        self._outages = {way.name: OutageLog(LOG, f"The {way.name} of events") for way in ways}

    def put(self, notification: Notification) -> None:
        """Have it sent soon; it is dropped, and counted, when too many wait already."""
        with self._changed:
            if self._is_stopping:
                return
            is_full = len(self._waiting) >= self._size_max
            if not is_full:
                self._waiting.append(notification)
                self._changed.notify()
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._work, name="notifications", daemon=True
                    )
                    self._thread.start()
        if is_full:
            measures.notifications_dropped("queue_full")
            self._overflow.failed(f"{self._size_max} wait to be sent, what comes now is dropped")

    def stop(self, grace_seconds: float) -> None:
        """Send what waits, for so long at most; take nothing more."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(grace_seconds)

    def _work(self) -> None:
        while batch := self._next_batch():
            for way in self._ways:
                self._send(way, batch)
        for way in self._ways:
            way.close()

    def _next_batch(self) -> list[Notification]:
        """Wait for notifications; none when it is time to end."""
        with self._changed:
            while not self._waiting and not self._is_stopping:
                self._changed.wait()
            is_early = not self._is_stopping
        if is_early:
            time.sleep(GATHER_SECONDS)
        with self._changed:
            count = min(len(self._waiting), BATCH_SIZE_MAX)
            return [self._waiting.popleft() for _ in itertools.repeat(None, count)]

    def _send(self, way: Way, batch: Sequence[Notification]) -> None:
        try:
            way.send(batch)
        except Exception as error:
            measures.notifications_dropped("not_sent", len(batch))
            self._outages[way.name].failed(error)
        else:
            measures.notifications_sent(way.name, len(batch))
            self._outages[way.name].succeeded()
