"""``KIND.virt_driver``: metrics of CPUs, memory, disk, load and pressure from the driver."""

from typing import ClassVar

from compute_agent.monitors import Monitor
from compute_agent.virt.driver import Readings
from compute_agent.virt.metrics import METRICS, Kind


class _VirtDriverMonitor(Monitor):
    """Reports the metrics of one kind, see ``compute_agent.virt.metrics``."""

    kind: ClassVar[Kind]

    def measure(self) -> Readings | None:
        readings = self._driver.get_readings(self.kind)
        if readings is None:
            return None
        known = METRICS[self.kind]
        values = {name: readings.values[name] for name in known if name in readings.values}
        return Readings(values, readings.at)


class CPUVirtDriver(_VirtDriverMonitor):
    """CPU usage of the host.

    ``cpu.frequency`` is in MHz. ``cpu.{user,kernel,idle,iowait}.time`` are in seconds since boot,
    summed over all CPUs. ``cpu.{user,kernel,idle,iowait}.percent`` are fractions of the time since
    the previous measurement, and ``cpu.percent`` is the fraction that was neither idle nor iowait.
    A driver may omit some.
    """

    kind = Kind.CPU


class MemoryVirtDriver(_VirtDriverMonitor):
    """Memory usage of the host, by all programs.

    ``memory.available`` is the memory in MiB available without swapping. ``memory.percent`` is the
    fraction that is not available, ``memory.swap.percent`` the fraction of swap in use.
    """

    kind = Kind.MEMORY


class DiskVirtDriver(_VirtDriverMonitor):
    """Usage of the file system that holds the guests of the host.

    ``disk.available`` is in MiB, ``disk.percent`` the fraction in use.
    """

    kind = Kind.DISK


class LoadVirtDriver(_VirtDriverMonitor):
    """Load average: tasks that run or wait for the disk.

    ``load.1``, ``load.5`` and ``load.15`` are averages over that many minutes; ``load.per_cpu`` is
    ``load.1`` divided by the number of CPUs.
    """

    kind = Kind.LOAD


class PressureVirtDriver(_VirtDriverMonitor):
    """Pressure stall information: how long tasks wait for resources.

    ``pressure.{cpu,memory,io}.{some,full}.percent`` are the fractions of the last ten seconds in
    which some, or all, tasks waited for the resource. Not available on kernels without it.
    """

    kind = Kind.PRESSURE
