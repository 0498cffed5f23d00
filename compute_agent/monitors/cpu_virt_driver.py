"""``cpu.virt_driver``: how busy the CPUs of a host are, as its driver says."""

from __future__ import annotations

from compute_agent.monitors import Monitor
from compute_agent.virt.driver import Readings

TIMES = ("user", "kernel", "idle", "iowait")
METRICS = (
    "cpu.frequency",
    *(f"cpu.{part}.time" for part in TIMES),
    *(f"cpu.{part}.percent" for part in TIMES),
    "cpu.percent",
)


class CPUVirtDriver(Monitor):
    """Pass on what the host's driver measures of its CPUs.

    ``cpu.frequency`` is in MHz, ``cpu.{user,kernel,idle,iowait}.time`` in seconds since the machine
    began, added up over its CPUs. ``cpu.{user,kernel,idle,iowait}.percent`` are parts of 1 of the
    time between two looks, and ``cpu.percent`` is the part that was neither idle nor iowait. A
    driver may leave some out.
    """

    def measure(self) -> Readings | None:
        readings = self._driver.get_cpu_readings()
        if readings is None:
            return None
        known = {name: readings.values[name] for name in METRICS if name in readings.values}
        return Readings(known, readings.at)
