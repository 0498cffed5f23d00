"""Simulated time: what is to happen when, one thing after the other."""

from __future__ import annotations

import enum
import heapq
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""When every simulation begins."""


class Order(enum.IntEnum):
    """What comes first of several things at one time: what frees, then who knows, then who asks."""

    END = 0
    FAILURE = 1
    BUILT = 2
    PUSH = 3
    ARRIVAL = 4
    SAMPLE = 5


class Timeline:
    """The clock and what is planned. Equal plans come to pass in an equal order."""

    def __init__(self, end_seconds: float) -> None:
        self.now = 0.0
        self._end_seconds = end_seconds
        self._planned: list[tuple[float, Order, int, Callable[[], None]]] = []
        self._number = 0

    def __call__(self) -> float:
        """Return the seconds since the beginning, as any clock does."""
        return self.now

    def datetime(self) -> datetime:
        """Return the time as a date."""
        return EPOCH + timedelta(seconds=self.now)

    def plan(self, at_seconds: float, order: Order, action: Callable[[], None]) -> None:
        """Let something happen; what would come after the end never does."""
        if at_seconds <= self._end_seconds:
            self._number += 1
            heapq.heappush(self._planned, (at_seconds, order, self._number, action))

    def run(self) -> Iterator[None]:
        """Do one thing after the other up to the end; yield when the clock is set for each."""
        while self._planned:
            self.now, _order, _number, action = heapq.heappop(self._planned)
            yield
            action()
        self.now = self._end_seconds
        yield
