"""Deadlines of calls: a call that a handler makes fails before the handler's own caller gives up.

A call sends the seconds that its caller waits for the answer. Calls made while it is handled, in
the same thread or in one that works for it, wait for less. So the error that names what did not
answer reaches the caller, which would otherwise only know that its own call timed out.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from armillary.context import RequestContext

T = TypeVar("T")

ANSWER_WITHIN = "answer_within_seconds"
"""Context key of the time that the caller waits; casts and older peers omit it."""

SHARE = 0.9
"""Share of the remaining time that an inner call may take."""
SECONDS_MIN = 0.5
"""Shortest time limit of an inner call."""
SECONDS_MAX = 86400
"""A message that says more says nothing: no option allows it."""


class _Deadline(threading.local):
    """When the caller of the message that this thread handles gives up, by the monotonic clock."""

    at: float | None = None


_deadline = _Deadline()


def shortened(timeout_seconds: float) -> float:
    """Return how long a call of this thread may wait for its answer.

    It is shorter than the time left to the caller of the message that the thread handles. Work that
    goes on after that time has the whole time-out again.
    """
    left = float("inf") if _deadline.at is None else _deadline.at - time.monotonic()
    return timeout_seconds if left <= 0 else min(timeout_seconds, max(SECONDS_MIN, left * SHARE))


def answered_within(context: RequestContext, seconds: float) -> RequestContext:
    """Return a copy of a context for a call that waits so long for its answer."""
    made = copy.copy(context)
    made.answer_within_seconds = seconds
    return made


def carried(work: Callable[[], T]) -> Callable[[], T]:
    """Return ``work`` for another thread that this one waits for, with the same deadline."""
    at = _deadline.at

    def work_in_time() -> T:
        with _until(at):
            return work()

    return work_in_time


def kept(dispatch: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``dispatch`` with the deadline of each message known to the calls of its handler."""

    def dispatch_in_time(incoming: Any) -> Any:
        with _until(_deadline_of(incoming.ctxt)):
            return dispatch(incoming)

    return dispatch_in_time


@contextlib.contextmanager
def _until(at: float | None) -> Iterator[None]:
    former, _deadline.at = _deadline.at, at
    try:
        yield
    finally:
        _deadline.at = former


def _deadline_of(context: Any) -> float | None:
    seconds = context.get(ANSWER_WITHIN) if isinstance(context, Mapping) else None
    if not isinstance(seconds, int | float) or not 0 <= seconds <= SECONDS_MAX:
        return None
    return time.monotonic() + seconds
