"""Metrics of a host, by kind.

Names ending in ``.percent`` are fractions, 0 to 1. The monitors of these kinds in
``compute_agent.monitors.virt_driver`` document the others.
"""

import enum
from collections.abc import Mapping

TIMES = ("user", "kernel", "idle", "iowait")


class Kind(enum.StrEnum):
    """Kind of metrics; the first part of a monitor's name."""

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
"""Kind -> the metrics that a driver may report; it may omit some."""

ALL_METRICS = tuple(name for names in METRICS.values() for name in names)
