"""Rate-limited logging of outages: once at the start, then once a minute, then on recovery."""

import logging
import time
from collections.abc import Callable

from armillary.masking import mask_passwords


class OutageLog:
    """Outage log of one dependency (a database, a broker), for one waiter."""

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
        self._since: float | None = None
        self._said_at = 0.0

    def failed(self, reason: object) -> None:
        """Record a failure; log a warning if it is the first, or an interval after the last one."""
        now = self._clock()
        if self._since is None:
            self._since = self._said_at = now
            self._logger.warning("%s is unavailable, retrying: %s", self._what, _one_line(reason))
        elif now - self._said_at >= self._interval_seconds:
            self._said_at = now
            self._logger.warning(
                "%s has been unavailable for %.0f s, still retrying: %s",
                self._what,
                now - self._since,
                _one_line(reason),
            )

    def succeeded(self) -> None:
        """Record a success; log it if a failure was logged before."""
        if self._since is None:
            return
        outage_seconds = self._clock() - self._since
        self._since = None
        self._logger.info("%s is available again after %.0f s", self._what, outage_seconds)


def _one_line(reason: object) -> str:
    return " ".join(mask_passwords(reason).split())
