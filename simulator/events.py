"""Simulated time: a queue of events, executed one after the other."""

import enum
import heapq
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""Start time of every simulation."""


class Order(enum.IntEnum):
    """Order of simultaneous events: releases first, then updates, then requests."""

    END = 0
    FAILURE = 1
    BUILT = 2
    PUSH = 3
    ARRIVAL = 4
    SAMPLE = 5


class Timeline:
    """Clock and event queue. The same events always run in the same order."""

    def __init__(self, end_seconds: float) -> None:
        self.now = 0.0
        self._end_seconds = end_seconds
        self._planned: list[tuple[float, Order, int, Callable[[], None]]] = []
        self._number = 0

    def __call__(self) -> float:
        """Return the seconds since the start, as any clock does."""
        return self.now

    def datetime(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now)

    def plan(self, at_seconds: float, order: Order, action: Callable[[], None]) -> None:
        """Schedule an event; one after the end of the simulation never runs."""
        if at_seconds <= self._end_seconds:
            self._number += 1
            heapq.heappush(self._planned, (at_seconds, order, self._number, action))

    def run(self) -> Iterator[None]:
        """Run the events up to the end; yield when the clock is set for each."""
        while self._planned:
            self.now, _order, _number, action = heapq.heappop(self._planned)
            yield
            action()
        self.now = self._end_seconds
        yield
