"""Whether a cell conductor can be reached: who hears nothing must not take others for dead.

A host is down when nothing was heard of it. A conductor that is cut off from its broker hears of
nobody, and would convict the whole cell; so it calls itself through the broker, and holds its
judgement while that fails, and for as long again as a host may be silent once it works.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from armillary import exception

LOG = logging.getLogger(__name__)

CALLS_IN_DOWN_TIME = 6
CALL_SECONDS_MAX = 5.0


class Hearing:
    """Keeps when a conductor began to hear, and when it last did. Times are of ``monotonic``."""

    def __init__(
        self,
        call_myself: Callable[[float], None],
        *,
        down_time_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        """``call_myself`` takes a time-out in seconds and raises ``Unavailable``."""
        self._call_myself = call_myself
        self._down_time = down_time_seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._since: float | None = None
        self._last = 0.0

    @property
    def interval_seconds(self) -> float:
        """How often to listen."""
        return min(CALL_SECONDS_MAX, self._down_time / CALLS_IN_DOWN_TIME)

    def listen(self) -> None:
        """Call myself through the broker and note whether that worked."""
        try:
            self._call_myself(self.interval_seconds)
        except exception.Unavailable as error:
            with self._lock:
                was_hearing, self._since = self._since is not None, None
            if was_hearing:
                LOG.warning("The cell's broker is out of reach, no host is judged: %s", error)
            return
        with self._lock:
            now = self._monotonic()
            if self._since is None or self._is_silent(now):
                self._since = now
            self._last = now

    def may_convict(self) -> bool:
        """Tell whether every host that lives has had the time to be heard."""
        with self._lock:
            now = self._monotonic()
            if self._since is None or self._is_silent(now):
                return False
            return now - self._since >= self._down_time

    def _is_silent(self, now: float) -> bool:
        return now - self._last > self._down_time / 2
