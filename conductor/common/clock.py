"""Conversion of clock seconds to the timestamps that are stored and sent, in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]
"""Returns seconds since 1970: a ``DatabaseClock``, or a test's clock."""


def moment(seconds: float) -> datetime:
    """Return the timestamp in whole seconds: objects lose fractions of a second in transit."""
    return datetime.fromtimestamp(int(seconds), UTC)


def exact_moment(seconds: float) -> datetime:
    """Return the timestamp in microseconds, for what is stored in order and not sent as such."""
    return datetime.fromtimestamp(seconds, UTC)
