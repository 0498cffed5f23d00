"""Exponential backoff: how long to wait before work that failed is retried."""

import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")

_RETRIES_COUNTED_MAX = 64
"""Later retries wait as long as this one, so that no delay overflows."""


@dataclasses.dataclass(frozen=True)
class Backoff:
    """Delays in seconds that grow by ``factor`` with each retry, up to ``max_seconds``.

    ``jitter`` is the share of each delay, from 0 to 1, that is random, so that clients of the same
    server spread their retries; ``draw`` returns a random number from 0 to 1. Timeouts that grow
    with each retry are computed in the same way.
    """

    first_seconds: float
    max_seconds: float
    factor: float = 2.0
    jitter: float = 0.0
    draw: Callable[[], float] = random.random  # of the generator that differs after a fork

    def seconds(self, retries: int) -> float:
        """Return the delay before the next retry; ``retries`` is the number of earlier ones."""
        growth = self.factor ** min(retries, _RETRIES_COUNTED_MAX)
        longest = min(self.first_seconds * growth, self.max_seconds)
        return longest * (1.0 - self.jitter * self.draw()) if self.jitter else longest


@dataclasses.dataclass
class _Retries:
    """Retries of one key: their number, and when the next one is due; None: it is under way."""

    count: int
    due_at: float | None


class KeyedBackoff(Generic[K]):
    """A backoff of many keys, each with retries of its own. Thread-safe.

    A key that has been due for ``forget_seconds`` without another failure is forgotten. ``clock``
    returns seconds; if it is set back, retries are due early rather than late.
    """

    def __init__(
        self,
        backoff: Backoff,
        clock: Callable[[], float] = time.monotonic,
        *,
        forget_seconds: float = math.inf,
    ) -> None:
        self._backoff = backoff
        self._clock = clock
        self._forget_seconds = forget_seconds
        self._forget_at = clock() + forget_seconds
        self._retries: dict[K, _Retries] = {}
        self._lock = threading.Lock()

    def add(self, key: K) -> float:
        """Schedule the next retry of a key; return the seconds until then."""
        with self._lock:
            now = self._clock()
            self._forget_old(now)
            retries = self._retries.setdefault(key, _Retries(0, None))
            seconds = self._backoff.seconds(retries.count)
            retries.count += 1
            retries.due_at = now + seconds
        return seconds

    def forget(self, key: K) -> None:
        """Reset the backoff of a key: it succeeded, or is due immediately."""
        with self._lock:
            self._retries.pop(key, None)

    def waiting(self) -> dict[K, float]:
        """Return the keys that are not due yet, with the seconds until they are."""
        with self._lock:
            now = self._clock()
            return {
                key: retries.due_at - now
                for key, retries in self._retries.items()
                if retries.due_at is not None and not self._is_due(retries.due_at, now)
            }

    def take_due(self) -> list[K]:
        """Return the keys that are due, each once for each ``add``."""
        with self._lock:
            now = self._clock()
            due = [
                key
                for key, retries in self._retries.items()
                if retries.due_at is not None and self._is_due(retries.due_at, now)
            ]
            for key in due:
                self._retries[key].due_at = None
        return due

    def _is_due(self, due_at: float, now: float) -> bool:
        return not now < due_at <= now + self._backoff.max_seconds

    def _forget_old(self, now: float) -> None:
        if now < self._forget_at:
            return
        self._forget_at = now + self._forget_seconds
        self._retries = {
            key: retries
            for key, retries in self._retries.items()
            if retries.due_at is None or retries.due_at > now - self._forget_seconds
        }
