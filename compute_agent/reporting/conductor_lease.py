"""Conductor lease: whether the cell conductor may have given up on this agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from oslo_config import cfg


class ConductorLease:
    """Tracks answered heartbeats. Thread-safe.

    A conductor that receives no heartbeat of a host for ``[DEFAULT] service_down_time`` moves its
    builds and operations to other hosts. Commands sent to the host earlier may still be in its
    journal or on their way. The agent's commands are therefore in doubt in three cases: after
    startup, when no heartbeat was answered for half of that time, and for all of that time after
    such a gap, by which delayed messages have arrived.
    """

    def __init__(self, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_of_at = float("-inf")
        self._doubts_until = float("inf")

    def answered(self, asked_at: float) -> None:
        """Record the answer to a heartbeat sent at ``asked_at`` (monotonic seconds)."""
        with self._lock:
            if asked_at - self._heard_of_at > self._silence_seconds_max:
                self._doubts_until = self._clock() + self._conf.service_down_time
            self._heard_of_at = max(asked_at, self._heard_of_at)

    def is_in_doubt(self) -> bool:
        """Return whether the agent's commands may be obsolete."""
        now = self._clock()
        with self._lock:
            is_silent = now - self._heard_of_at > self._silence_seconds_max
            return is_silent or now < self._doubts_until

    @property
    def _silence_seconds_max(self) -> float:
        return float(self._conf.service_down_time) / 2
