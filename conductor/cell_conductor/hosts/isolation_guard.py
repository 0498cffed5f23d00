"""Isolation guard: in a network partition, a cell conductor must not mark its hosts as down.

A host is down when its heartbeats stop. A conductor that is cut off from its broker receives no
heartbeats at all, and would mark the whole cell as down. So it calls itself through the broker. It
marks no host as down while that call fails, nor for one down time after it works again.
"""

import logging
import threading
from collections.abc import Callable

from armillary import exception

LOG = logging.getLogger(__name__)

CALLS_IN_DOWN_TIME = 6
CALL_SECONDS_MAX = 5.0


class IsolationGuard:
    """Times since when, and until when, a conductor was reachable, by ``monotonic``."""

    def __init__(
        self,
        call_self: Callable[[float], None],
        *,
        down_time_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        """``call_self`` takes a timeout in seconds and raises ``Unavailable``."""
        self._call_self = call_self
        self._down_time = down_time_seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._since: float | None = None
        self._last = 0.0

    @property
    def interval_seconds(self) -> float:
        return min(CALL_SECONDS_MAX, self._down_time / CALLS_IN_DOWN_TIME)

    def listen(self) -> None:
        """Call this conductor through the broker and record the result."""
        try:
            self._call_self(self.interval_seconds)
        except exception.Unavailable as error:
            with self._lock:
                was_connected, self._since = self._since is not None, None
            if was_connected:
                LOG.warning(
                    "The cell's broker is unreachable, hosts are not marked down: %s", error
                )
            return
        with self._lock:
            now = self._monotonic()
            if self._since is None or self._is_silent(now):
                self._since = now
            self._last = now

    def may_mark_down(self) -> bool:
        """Return whether every living host has had the time to send a heartbeat."""
        with self._lock:
            now = self._monotonic()
            if self._since is None or self._is_silent(now):
                return False
            return now - self._since >= self._down_time

    def _is_silent(self, now: float) -> bool:
        return now - self._last > self._down_time / 2
