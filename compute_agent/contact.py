"""Whether the cell conductor may have given this agent up, and with it what the agent was told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from oslo_config import cfg


class Contact:
    """Knows of the heartbeats that were answered. Thread-safe.

    A conductor that hears nothing of a host for ``[DEFAULT] service_down_time`` has its builds and
    operations go on elsewhere. What the host was told before is still in its journal, or on its way
    to it. So the agent is in doubt after its start, while it has had no answer for half of that
    time, and for all of it after such a silence: messages that waited have come by then.
    """

    def __init__(self, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_of_at = float("-inf")
        self._doubts_until = float("inf")

    def answered(self, asked_at: float) -> None:
        """Note that a heartbeat of then (by the monotonic clock, seconds) was answered."""
        with self._lock:
            if asked_at - self._heard_of_at > self._silence_seconds_max:
                self._doubts_until = self._clock() + self._conf.service_down_time
            self._heard_of_at = max(asked_at, self._heard_of_at)

    def is_in_doubt(self) -> bool:
        """Return whether what the agent was told may not be wanted any more."""
        now = self._clock()
        with self._lock:
            is_silent = now - self._heard_of_at > self._silence_seconds_max
            return is_silent or now < self._doubts_until

    @property
    def _silence_seconds_max(self) -> float:
        return float(self._conf.service_down_time) / 2
