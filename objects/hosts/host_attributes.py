"""Declaration of all host attributes.

Agent, host table and zone summaries derive from it. A new attribute needs a line in
``HOST_ATTRIBUTES`` and a collector.
"""

import dataclasses
import enum
from typing import Any

UNLIMITED_GB = 2**31 - 1
"""``disk_available_least`` of a host that does not report it."""


class Kind(enum.Enum):
    """Type of an attribute; the first three become NumPy columns, the others lists."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    TEXT = "text"
    JSON = "json"


class Collector(enum.Enum):
    """The component that reports an attribute."""

    TRACKER = "tracker"  # the agent's resource tracker, from inventory and its instances
    DRIVER = "driver"  # the driver's description of the host
    MONITOR = "monitor"  # the agent's monitors
    CELL = "cell"  # the cell conductor, from its service and instance records


class Rollup(enum.Enum):
    """How a zone aggregates an attribute over its hosts."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    HISTOGRAM = "histogram"
    """Number of hosts by range of values: 0, 1, 2-3, 4-7 and so on, named by its least value."""
    ANY = "any"
    UNION = "union"
    NONE = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class HostAttribute:
    """An attribute of a host: its name, type, unit, collector, and aggregation in zones."""

    name: str
    kind: Kind
    unit: str
    collector: Collector
    rollup: Rollup
    default: Any


def _declare(*lines: tuple[str, Kind, str, Collector, Rollup, Any]) -> tuple[HostAttribute, ...]:
    return tuple(HostAttribute(*line) for line in lines)


# Names and meanings are those that established filters, weighers and capability queries use.
HOST_ATTRIBUTES = _declare(
    ("vcpus_total", Kind.INT, "vCPU", Collector.TRACKER, Rollup.SUM, 0),
    ("vcpus_used", Kind.INT, "vCPU", Collector.TRACKER, Rollup.SUM, 0),
    ("total_usable_ram_mb", Kind.INT, "MiB", Collector.TRACKER, Rollup.SUM, 0),
    ("free_ram_mb", Kind.INT, "MiB", Collector.TRACKER, Rollup.MAX, 0),
    ("total_usable_disk_gb", Kind.INT, "GiB", Collector.TRACKER, Rollup.SUM, 0),
    ("free_disk_mb", Kind.INT, "MiB", Collector.TRACKER, Rollup.MAX, 0),
    ("disk_available_least", Kind.INT, "GiB", Collector.TRACKER, Rollup.NONE, UNLIMITED_GB),
    ("disk_mb_used", Kind.INT, "MiB", Collector.TRACKER, Rollup.SUM, 0),
    ("cpu_allocation_ratio", Kind.FLOAT, "1", Collector.TRACKER, Rollup.MAX, 1.0),
    ("ram_allocation_ratio", Kind.FLOAT, "1", Collector.TRACKER, Rollup.MAX, 1.0),
    ("disk_allocation_ratio", Kind.FLOAT, "1", Collector.TRACKER, Rollup.MAX, 1.0),
    ("num_io_ops", Kind.INT, "instances", Collector.TRACKER, Rollup.SUM, 0),
    ("failed_builds", Kind.INT, "builds", Collector.TRACKER, Rollup.HISTOGRAM, 0),
    ("num_instances", Kind.INT, "instances", Collector.CELL, Rollup.SUM, 0),
    ("instance_uuids", Kind.JSON, "list of UUID", Collector.CELL, Rollup.NONE, ()),
    ("service_up", Kind.BOOL, "1", Collector.CELL, Rollup.ANY, False),
    ("service_disabled", Kind.BOOL, "1", Collector.CELL, Rollup.NONE, False),
    ("service_version", Kind.INT, "version", Collector.CELL, Rollup.MIN, 0),
    ("hypervisor_type", Kind.TEXT, "name", Collector.DRIVER, Rollup.UNION, ""),
    ("hypervisor_version", Kind.INT, "packed version", Collector.DRIVER, Rollup.MAX, 0),
    ("hypervisor_hostname", Kind.TEXT, "name", Collector.DRIVER, Rollup.NONE, ""),
    ("host_ip", Kind.TEXT, "address", Collector.DRIVER, Rollup.NONE, ""),
    ("cpu_info", Kind.TEXT, "JSON text", Collector.DRIVER, Rollup.NONE, ""),
    ("supported_instances", Kind.JSON, "list of [arch, type, mode]", Collector.DRIVER,
     Rollup.UNION, ()),
    ("isolation", Kind.JSON, "dict of text", Collector.DRIVER, Rollup.NONE, None),
    ("stats", Kind.JSON, "dict", Collector.TRACKER, Rollup.NONE, None),
    ("numa_topology", Kind.JSON, "dict", Collector.TRACKER, Rollup.NONE, None),
    ("pci_stats", Kind.JSON, "list of pools", Collector.TRACKER, Rollup.NONE, ()),
    ("pci_reserved", Kind.JSON, "list of pools", Collector.TRACKER, Rollup.NONE, ()),
    ("placed_instances", Kind.JSON, "list of UUID counted in numa_topology and pci_stats",
     Collector.TRACKER, Rollup.NONE, None),
    ("instance_flavors", Kind.JSON, "dict of counts", Collector.TRACKER, Rollup.NONE, None),
    ("instance_image_properties", Kind.JSON, "dict of counts", Collector.TRACKER, Rollup.NONE,
     None),
    ("cached_images", Kind.JSON, "list of image id", Collector.DRIVER, Rollup.NONE, None),
    ("booted_at", Kind.INT, "s since the epoch", Collector.TRACKER, Rollup.NONE, 0),
    ("metrics", Kind.JSON, "list of dict", Collector.MONITOR, Rollup.NONE, ()),
)  # fmt: skip

BY_NAME = {attribute.name: attribute for attribute in HOST_ATTRIBUTES}


def collected_by(*collectors: Collector) -> tuple[HostAttribute, ...]:
    """Return the attributes that these collectors report, in declared order."""
    return tuple(a for a in HOST_ATTRIBUTES if a.collector in collectors)
