"""CPU usage, memory, disk, load and pressure of this machine, from the kernel."""

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
from oslo_utils import timeutils

from compute_agent.virt.driver import Readings
from compute_agent.virt.machine.machine import MIB
from compute_agent.virt.metrics import Kind

PRESSURE = Path("/proc/pressure")
_LINE = re.compile(r"(some|full) avg10=([0-9.]+) ")


class MachineMeters:
    """Reads all kinds of metrics of this machine. ``path`` is the guests' file system."""

    def __init__(self, path: Path, *, pressure: Path = PRESSURE) -> None:
        self._cpu = CpuMeter()
        self._path = path
        self._pressure = pressure
        self._looks: Mapping[Kind, Callable[[], dict[str, float]]] = {
            Kind.MEMORY: _memory,
            Kind.DISK: self._disk,
            Kind.LOAD: _load,
            Kind.PRESSURE: self._stalled,
        }

    def read(self, kind: Kind) -> Readings | None:
        """Return the readings of a kind; None if this kernel does not report it. Raises OSError.

        CPU readings may be seconds old, because they cover an interval.
        """
        if kind is Kind.CPU:
            return self._cpu.read()
        values = self._looks[kind]()
        return Readings(values, timeutils.utcnow(with_timezone=True)) if values else None

    def _disk(self) -> dict[str, float]:
        usage = psutil.disk_usage(str(self._path))
        return {"disk.available": usage.free // MIB, "disk.percent": round(usage.percent / 100, 4)}

    def _stalled(self) -> dict[str, float]:
        """Return the pressure over the last ten seconds; empty before Linux 4.20.

        If it was disabled (``psi=0``), reading fails or the files do not exist.
        """
        if not self._pressure.is_dir():
            return {}
        found = {}
        for what in ("cpu", "memory", "io"):
            text = (self._pressure / what).read_text()
            for who, percent in _LINE.findall(text):
                found[f"pressure.{what}.{who}.percent"] = round(float(percent) / 100, 4)
        return found


def _memory() -> dict[str, float]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {
        "memory.available": memory.available // MIB,
        "memory.percent": round(1 - memory.available / memory.total, 4),
        "memory.swap.percent": round(swap.percent / 100, 4),
    }


def _load() -> dict[str, float]:
    one, five, fifteen = (round(value, 2) for value in os.getloadavg())
    per_cpu = round(one / (os.cpu_count() or 1), 2)
    return {"load.1": one, "load.5": five, "load.15": fifteen, "load.per_cpu": per_cpu}


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
