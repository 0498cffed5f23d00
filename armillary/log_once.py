"""Say once that something is away, then once a minute, then once that it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from armillary.masking import mask_passwords


class OutageLog:
    """The voice of one thing that may be away (a database, a broker), for one waiter."""

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
        """Note a failure: a warning when it is the first or the last word is an interval old."""
        now = self._clock()
        if self._since is None:
            self._since = self._said_at = now
            self._logger.warning("%s is unavailable, retrying: %s", self._what, _one_line(reason))
        elif now - self._said_at >= self._interval_seconds:
            self._said_at = now
            self._logger.warning(
                "%s is unavailable for %.0f s, still retrying: %s",
                self._what,
                now - self._since,
                _one_line(reason),
            )

    def succeeded(self) -> None:
        """Note a success: say so when a failure was said before."""
        if self._since is None:
            return
        outage_seconds = self._clock() - self._since
        self._since = None
        self._logger.info("%s is available again after %.0f s", self._what, outage_seconds)


def _one_line(reason: object) -> str:
    return " ".join(mask_passwords(reason).split())
