"""Limit on how long a call waits for a broker that is away.

oslo.messaging's driver retries to send for as long as the broker is away. A caller waits for a
limited time, so the wait for the broker has to end, too. The limit belongs to the calling thread.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import oslo_messaging

OUTAGE_SECONDS_MAX = 3.0
"""How long calls of a driver that fails fast wait for the broker from the start of its outage."""


class _Limit(threading.local):
    deadline: float | None = None
    may_be_sent = False


_limit = _Limit()


class Outage:
    """Outage of the broker of one driver, as its connections see it."""

    def __init__(self) -> None:
        self.fails_fast = False
        self._since: float | None = None

    def failed(self) -> None:
        """Record that a connection failed."""
        if self._since is None:
            self._since = time.monotonic()

    def ended(self) -> None:
        """Record that a connection works."""
        self._since = None

    def check(self, error: BaseException) -> None:
        """Raise if this thread's call has waited long enough for the broker.

        Raises MessagingTimeout if the message may have been sent, else MessageDeliveryFailure.
        """
        deadline = _limit.deadline
        if deadline is None:
            return
        if self.fails_fast and self._since is not None:
            deadline = min(deadline, self._since + OUTAGE_SECONDS_MAX)
        if time.monotonic() < deadline:
            return
        if _limit.may_be_sent:
            raise oslo_messaging.MessagingTimeout(f"the broker did not confirm: {error}") from error
        raise oslo_messaging.MessageDeliveryFailure(f"the broker is away: {error}") from error


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Limit how long this thread waits for the broker meanwhile; None sets no limit."""
    _limit.deadline = None if seconds is None else time.monotonic() + seconds
    _limit.may_be_sent = False
    try:
        yield
    finally:
        _limit.deadline = None


def remaining_seconds() -> float | None:
    """Return what is left of this thread's limit, at least a moment; None without a limit."""
    if _limit.deadline is None:
        return None
    return max(0.1, _limit.deadline - time.monotonic())


def publishing() -> None:
    """Record that the message of this thread's call is on its way."""
    _limit.may_be_sent = True
