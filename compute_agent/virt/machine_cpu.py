"""How busy the CPUs of this machine are, between two looks that are not too close together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
from oslo_utils import timeutils

from compute_agent.virt.driver import Readings

INTERVAL_SECONDS_MIN = 5.0
"""What is asked for more often gets the last answer: shorter spans say little but noise."""


class CpuMeter:
    """Turns the machine's counters into readings. The first covers all time since it began."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._times = dict.fromkeys(("user", "kernel", "idle", "iowait"), 0.0)
        self._last: Readings | None = None
        self._looked_at = 0.0

    def read(self) -> Readings:
        """Return the readings of the span that ended last."""
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
        frequency = psutil.cpu_freq()  # None where the system does not tell, as in many guests
        if frequency is not None and frequency.current > 0:
            values["cpu.frequency"] = round(frequency.current)
        return Readings(values, timeutils.utcnow(with_timezone=True))


def _parts(times: Any) -> dict[str, float]:
    """Return the counters by name: what is in the kernel's list beside these is guests' time.

    User time holds that of guests already; what is stolen was never ours.
    """
    return {
        "user": times.user + times.nice,
        "kernel": times.system + times.irq + times.softirq,
        "idle": times.idle,
        "iowait": times.iowait,
    }
