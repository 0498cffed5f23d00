"""Rate-limited logging of outages: once at the start, then once a minute, then on recovery."""

import collections
import logging
import threading
import time
from collections.abc import Callable

from armillary.logs.masking import mask_passwords

OUTAGES_MAX = 3
"""Outages within the interval that are logged; the others are counted."""


class OutageLog:
    """Outage log of one dependency (a database, a broker). Thread-safe.

    Some of its users may be served while others are not, so that outages seem to begin and to end
    all the time: these are logged ``OUTAGES_MAX`` times in an interval.
    """

    def __init__(
        self,
        logger: logging.Logger,
        what: str,
        interval_seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._what = what
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None
        self._said_at = 0.0
        self._is_said = False
        self._begun: collections.deque[float] = collections.deque(maxlen=OUTAGES_MAX)
        self._unsaid = 0

    def failed(self, reason: object) -> None:
        """Record a failure; log a warning if it is the first, or an interval after the last one."""
        now = self._clock()
        with self._lock:
            if self._since is None:
                self._begin(now, reason)
            elif now - self._said_at >= self._interval_seconds:
                self._said_at, self._is_said = now, True
                self._logger.warning(
                    "%s has been unavailable for %.0f s, still retrying: %s",
                    self._what, now - self._since, _one_line(reason),
                )  # fmt: skip

    def _begin(self, now: float, reason: object) -> None:
        self._since = now
        is_full = len(self._begun) == OUTAGES_MAX
        self._is_said = not is_full or now - self._begun[0] >= self._interval_seconds
        if not self._is_said:
            self._unsaid += 1
            return
        self._begun.append(now)
        self._said_at = now
        more = f" ({self._unsaid} more outages since the last message)" if self._unsaid else ""
        self._unsaid = 0
        self._logger.warning(
            "%s is unavailable, retrying: %s%s", self._what, _one_line(reason), more
        )

    def succeeded(self) -> None:
        """Record a success; log it if a failure was logged before."""
        with self._lock:
            if self._since is None:
                return
            outage_seconds = self._clock() - self._since
            self._since = None
            if self._is_said:
                self._logger.info("%s is available again after %.0f s", self._what, outage_seconds)


def _one_line(reason: object) -> str:
    return " ".join(mask_passwords(reason).split())
