"""Limits of log lines that others cause: a flood neither fills a disk nor hides other lines."""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable

AT_ONCE_MAX = 100
INTERVAL_SECONDS = 3.0
"""Of each kind this many lines are written, and one more each interval; others are counted."""


@dataclasses.dataclass(slots=True)
class _Budget:
    """Token bucket of one kind, and how many were left out since the last line."""

    allowed: float
    at: float
    left_out: int = 0


class LineBudgets:
    """One budget for each kind of line; kinds are few. Thread-safe.

    ``when_exhausted`` is called with a kind at the first line of it that is left out.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        when_exhausted: Callable[[tuple[str, ...]], None] | None = None,
    ) -> None:
        self._clock = clock
        self._when_exhausted = when_exhausted
        self._lock = threading.Lock()
        self._budgets: dict[tuple[str, ...], _Budget] = {}

    def take(self, *kind: str) -> int | None:
        """Return how many were left out before a line; None: it is left out, too."""
        now = self._clock()
        with self._lock:
            budget = self._budgets.setdefault(kind, _Budget(AT_ONCE_MAX, now))
            regained = (now - budget.at) / INTERVAL_SECONDS
            budget.allowed = min(AT_ONCE_MAX, budget.allowed + regained)
            budget.at = now
            if budget.allowed >= 1:
                budget.allowed -= 1
                left_out, budget.left_out = budget.left_out, 0
                return left_out
            budget.left_out += 1
            is_first = budget.left_out == 1
        if is_first and self._when_exhausted is not None:
            self._when_exhausted(kind)
        return None


class BoundedLog:
    """Writes lines that others cause, each text within a budget of its own."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._budgets = LineBudgets(clock)

    def write(
        self, level: int, text: str, *values: object, error: BaseException | None = None,
        kind: str = "",
    ) -> None:  # fmt: skip
        """Write a line, and how many like it were left out before; or count it.

        With the traceback of an ``error``. Lines of one text and different ``kind`` have budgets of
        their own.
        """
        left_out = self._budgets.take(text, kind)
        if left_out:
            text, values = f"{text} (%d like it were left out before)", (*values, left_out)
        if left_out is not None:
            self._logger.log(level, text, *values, exc_info=error)
