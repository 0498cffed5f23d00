"""Bounded queue of notifications, sent by a thread of its own so that callers never wait."""

import collections
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from armillary import service_metrics
from armillary.notifications.notification import Notification
from armillary.outage_log import OutageLog

LOG = logging.getLogger(__name__)

BATCH_SIZE_MAX = 200
BATCH_WINDOW_SECONDS = 0.02
"""Seconds to wait for more events: a message for fifty costs little more than for one."""


class Channel(Protocol):
    """One channel for notifications that leave the process."""

    name: str

    def send(self, notifications: Sequence[Notification]) -> None:
        """Send the notifications, or raise why it failed; may block."""
        ...

    def close(self) -> None: ...


class Outbox:
    """Pass batches to each channel, in order. Starts its thread with the first notification."""

    def __init__(self, ways: Sequence[Channel], *, size_max: int) -> None:
        self._ways = list(ways)
        self._size_max = size_max
        self._waiting: collections.deque[Notification] = collections.deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._overflow = OutageLog(LOG, "Space for more notifications")
        self._outages = {way.name: OutageLog(LOG, f"The {way.name} of events") for way in ways}

    def put(self, notification: Notification) -> None:
        """Queue a notification; it is dropped and counted if too many are waiting."""
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
            service_metrics.NOTIFICATIONS_DROPPED.add("queue_full")
            self._overflow.failed(f"{self._size_max} are waiting to be sent, new ones are dropped")

    def stop(self, grace_seconds: float) -> None:
        """Send what is queued, for at most ``grace_seconds``; accept nothing more."""
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
        """Wait for notifications; return none when it is time to end."""
        with self._changed:
            while not self._waiting and not self._is_stopping:
                self._changed.wait()
            is_early = not self._is_stopping
        if is_early:
            time.sleep(BATCH_WINDOW_SECONDS)
        with self._changed:
            count = min(len(self._waiting), BATCH_SIZE_MAX)
            return [self._waiting.popleft() for _ in itertools.repeat(None, count)]

    def _send(self, way: Channel, batch: Sequence[Notification]) -> None:
        try:
            way.send(batch)
        except Exception as error:
            service_metrics.NOTIFICATIONS_DROPPED.add("not_sent", count=len(batch))
            self._outages[way.name].failed(error)
        else:
            service_metrics.NOTIFICATIONS_SENT.add(way.name, count=len(batch))
            self._outages[way.name].succeeded()
