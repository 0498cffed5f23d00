"""What can be measured of a host: the metrics of each kind.

Names ending in ``.percent`` are parts of 1. What the others mean is told by the monitors of these
kinds, ``compute_agent.monitors.virt_driver``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

TIMES = ("user", "kernel", "idle", "iowait")


class Kind(enum.StrEnum):
    """What is measured; a monitor's name begins with it."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    LOAD = "load"
    PRESSURE = "pressure"


METRICS: Mapping[Kind, tuple[str, ...]] = {
    Kind.CPU: (
        "cpu.frequency",
        *(f"cpu.{part}.time" for part in TIMES),
        *(f"cpu.{part}.percent" for part in TIMES),
        "cpu.percent",
    ),
    Kind.MEMORY: ("memory.available", "memory.percent", "memory.swap.percent"),
    Kind.DISK: ("disk.available", "disk.percent"),
    Kind.LOAD: ("load.1", "load.5", "load.15", "load.per_cpu"),
    Kind.PRESSURE: tuple(
        f"pressure.{what}.{who}.percent"
        for what in ("cpu", "memory", "io")
        for who in ("some", "full")
    ),
}
"""Kind -> the metrics that a driver may measure; it may leave some out."""

ALL_METRICS = tuple(name for names in METRICS.values() for name in names)
