"""Memory, disk, load and pressure of this machine, from the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
from oslo_utils import timeutils

from compute_agent.virt.driver import Readings
from compute_agent.virt.machine.machine import MIB
from compute_agent.virt.machine.machine_cpu import CpuMeter
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
        return {
            "disk.available": usage.free // MIB,
            "disk.percent": round(usage.percent / 100, 4),
        }

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
