"""Limit on how long a call waits for a broker that is unreachable or stalled.

oslo.messaging's driver retries to send while the broker is unreachable. A caller waits for a
limited time, so the wait for the broker has to end, too: one limit covers it and the wait for the
answer. The limit belongs to the calling thread.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

import oslo_messaging

OUTAGE_SECONDS_MAX = 3.0
"""How long calls of a driver that fails fast wait for the broker from the start of its outage."""
CROWD_SECONDS = 0.5
"""How long a message may be unconfirmed when as many wait as may wait at the same time."""
LOOK_SECONDS = 1.0
"""How often a call that fails fast looks whether the broker is still there."""


class NotConfirmed(oslo_messaging.MessagingTimeout):  # type: ignore[misc]  # untyped library
    """The broker did not confirm a message in time: it may have been sent or not."""


class _Limit(threading.local):
    deadline: float | None = None
    may_be_sent = False


_limit = _Limit()


class Outage:
    """Outage of the broker of one driver, as its connections see it."""

    def __init__(self) -> None:
        self._waiting_max: int | None = None
        self._since: float | None = None
        self._waiting: dict[int, float] = {}
        """Thread -> since when it waits for the broker."""

    def fail_fast(self, waiting_max: int) -> None:
        """Have calls fail while the broker is known to be unreachable, or is stalled.

        ``waiting_max``: how many threads may wait for a broker that is stalled.
        """
        self._waiting_max = waiting_max

    @property
    def fails_fast(self) -> bool:
        """Whether calls fail while the broker is known to be away."""
        return self._waiting_max is not None

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count this thread as waiting for the broker meanwhile: to connect, or to confirm."""
        thread = threading.get_ident()
        self._waiting[thread] = time.monotonic()
        try:
            yield
        finally:
            self._waiting.pop(thread, None)

    def is_known(self) -> bool:
        """Return whether calls are to fail because the broker is unreachable or stalled."""
        if self._waiting_max is None:
            return False
        now, since = time.monotonic(), self._since
        if since is not None and now - since >= OUTAGE_SECONDS_MAX:
            return True
        waiting = sorted(self._waiting.copy().values())
        if not waiting:
            return False
        limit = CROWD_SECONDS if len(waiting) >= self._waiting_max else OUTAGE_SECONDS_MAX
        return now - waiting[0] >= limit

    def refuse(self) -> None:
        """Raise MessageDeliveryFailure if others wait for the broker without success.

        While none waits, this one goes and sees.
        """
        if self._waiting and self.is_known():
            raise oslo_messaging.MessageDeliveryFailure(
                "the broker is unreachable, or does not respond"
            )

    def failed(self) -> None:
        """Record that a connection failed."""
        if self._since is None:
            self._since = time.monotonic()

    def ended(self) -> None:
        """Record that a connection works."""
        self._since = None

    def check(self, error: BaseException) -> None:
        """Raise if this thread's call has waited long enough for the broker.

        Raises NotConfirmed if the message may have been sent, else MessageDeliveryFailure.
        """
        deadline = _limit.deadline
        if deadline is None:
            return
        if self._waiting_max is not None and self._since is not None:
            deadline = min(deadline, self._since + OUTAGE_SECONDS_MAX)
        if time.monotonic() < deadline:
            return
        raise failure(error) from error


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


def failure(error: BaseException) -> Exception:
    """Return what this thread's call raises after the broker did not take its message.

    NotConfirmed if the message may have been sent, else MessageDeliveryFailure.
    """
    if may_be_sent():
        return NotConfirmed(f"the broker did not confirm: {error}")
    return oslo_messaging.MessageDeliveryFailure(f"the broker is unreachable: {error}")


def may_be_sent() -> bool:
    """Return whether this thread's call, if it has a limit, may have been sent."""
    return _limit.deadline is not None and _limit.may_be_sent


def publishing() -> None:
    """Record that the message of this thread's call is on its way."""
    _limit.may_be_sent = True
