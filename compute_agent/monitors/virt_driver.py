"""``KIND.virt_driver``: what the driver of a host measures of its CPUs, memory, disk and load."""

from __future__ import annotations

from typing import ClassVar

from compute_agent.monitors import Monitor
from compute_agent.virt.driver import Readings
from compute_agent.virt.metrics import METRICS, Kind


class _VirtDriverMonitor(Monitor):
    """Passes on the metrics of one kind, see ``compute_agent.virt.metrics``."""

    kind: ClassVar[Kind]

    def measure(self) -> Readings | None:
        readings = self._driver.get_readings(self.kind)
        if readings is None:
            return None
        known = METRICS[self.kind]
        values = {name: readings.values[name] for name in known if name in readings.values}
        return Readings(values, readings.at)


class CPUVirtDriver(_VirtDriverMonitor):
    """How busy the CPUs of a host are.

    ``cpu.frequency`` is in MHz, ``cpu.{user,kernel,idle,iowait}.time`` in seconds since the machine
    began, added up over its CPUs. ``cpu.{user,kernel,idle,iowait}.percent`` are parts of 1 of the
    time between two looks, and ``cpu.percent`` is the part that was neither idle nor iowait. A
    driver may leave some out.
    """

    kind = Kind.CPU


class MemoryVirtDriver(_VirtDriverMonitor):
    """How much memory of a host is in use, whoever uses it.

    ``memory.available`` is in MiB, what programs could have without swapping. ``memory.percent`` is
    the part of 1 that they could not, ``memory.swap.percent`` the part of swap in use.
    """

    kind = Kind.MEMORY


class DiskVirtDriver(_VirtDriverMonitor):
    """How full the file system is that the guests of a host are on.

    ``disk.available`` is in MiB, ``disk.percent`` the part of 1 in use.
    """

    kind = Kind.DISK


class LoadVirtDriver(_VirtDriverMonitor):
    """How many tasks of a host run, or wait for the disk.

    ``load.1``, ``load.5`` and ``load.15`` are means of so many minutes, ``load.per_cpu`` is the
    first for each CPU.
    """

    kind = Kind.LOAD


class PressureVirtDriver(_VirtDriverMonitor):
    """How long tasks of a host wait for what they lack: pressure stall information.

    ``pressure.{cpu,memory,io}.{some,full}.percent`` are parts of 1 of the last ten seconds in which
    some tasks, or all, waited for that. A kernel without it tells nothing.
    """

    kind = Kind.PRESSURE
