"""A clock's seconds since 1970 as the moments that are stored and sent: UTC, in whole seconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Now = Callable[[], float]
"""Seconds since 1970: ``time.time``, or what a test gives."""


def moment(seconds: float) -> datetime:
    """Return the moment; objects lose what is below a second on their way, so all do from here."""
    return datetime.fromtimestamp(int(seconds), UTC)
