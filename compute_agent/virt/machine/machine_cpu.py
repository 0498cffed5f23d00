"""CPU usage of this machine, averaged over intervals of a minimum length."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
from oslo_utils import timeutils

from compute_agent.virt.driver import Readings

INTERVAL_SECONDS_MIN = 5.0
"""Minimum interval in seconds; shorter ones would be noisy, so the last result is returned."""


class CpuMeter:
    """Computes CPU readings from kernel counters; the first one covers the time since boot."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._times = dict.fromkeys(("user", "kernel", "idle", "iowait"), 0.0)
        self._last: Readings | None = None
        self._looked_at = 0.0

    def read(self) -> Readings:
        """Return the readings of the last complete interval."""
        with self._lock:
            now = self._clock()
            if self._last is None or now - self._looked_at >= INTERVAL_SECONDS_MIN:
                self._last = self._look()
                self._looked_at = now
            return self._last

    def _look(self) -> Readings:
        before, self._times = self._times, _parts(psutil.cpu_times())
        passed = {part: max(0.0, self._times[part] - before[part]) for part in self._times}
        total = sum(passed.values()) or 1.0
        values = {f"cpu.{part}.time": round(seconds, 2) for part, seconds in self._times.items()}
        for part, seconds in passed.items():
            values[f"cpu.{part}.percent"] = round(seconds / total, 4)
        values["cpu.percent"] = round((passed["user"] + passed["kernel"]) / total, 4)
        frequency = psutil.cpu_freq()  # None if the system does not report it, as in many VMs
        if frequency is not None and frequency.current > 0:
            values["cpu.frequency"] = round(frequency.current)
        return Readings(values, timeutils.utcnow(with_timezone=True))


def _parts(times: Any) -> dict[str, float]:
    """Return the counters by name, without double counting.

    User time already includes guest time; stolen time is not ours.
    """
    return {
        "user": times.user + times.nice,
        "kernel": times.system + times.irq + times.softirq,
        "idle": times.idle,
        "iowait": times.iowait,
    }
