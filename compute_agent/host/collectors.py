"""Collectors of host attributes, the fingerprint of a host: one for every declared attribute.

The tables follow ``objects.hosts.host_attributes``. Tests detect an attribute without a collector,
or one that a driver omits; for third-party drivers the agent checks it at startup.
"""

import collections
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil

from armillary import exception
from compute_agent.host import pci_devices
from compute_agent.host.host_topology import FreeTopology
from compute_agent.host.instance_summaries import most_frequent
from compute_agent.host.reserved import MIB_PER_GIB, ReservedAmounts
from compute_agent.journal.journal import Entry, State
from compute_agent.monitors import Metric
from compute_agent.virt.driver import HostResources
from objects.hosts.host_attributes import UNLIMITED_GB, Collector, collected_by

VM_STATES = {State.BUILDING: "building", State.RUNNING: "active", State.ENDED: "stopped"}
TASK_STATES = {State.BUILDING: "spawning", State.DELETING: "deleting"}


@dataclasses.dataclass(frozen=True, slots=True)
class HostFigures:
    """A snapshot of a host: resources, reserved amounts, and usage by instances."""

    resources: HostResources
    reserved: ReservedAmounts
    entries: Sequence[Entry]
    ratios: Mapping[str, float]
    """Effective allocation ratio by resource class."""
    failed_builds: int
    places: FreeTopology
    """Free NUMA resources and PCI devices."""
    metrics: Sequence[Metric]
    """Current metrics of the monitors."""

    @property
    def vcpus_total(self) -> int:
        return self.resources.vcpus + self.resources.pcpus

    @property
    def vcpus_used(self) -> int:
        return self.reserved.vcpus + sum(entry.vcpus for entry in self.entries)

    @property
    def memory_mb_used(self) -> int:
        return self.reserved.memory_mb + sum(entry.memory_mb for entry in self.entries)

    @property
    def disk_mb_used(self) -> int:
        used_gb = self.reserved.disk_gb + sum(entry.disk_gb for entry in self.entries)
        return used_gb * MIB_PER_GIB

    @property
    def disk_available_least(self) -> int:
        """GiB that can still be written, as the driver reports them."""
        found = self.resources.disk_available_least
        return UNLIMITED_GB if found is None else found

    @property
    def free_disk_mb(self) -> int:
        unused = self.resources.disk_gb * MIB_PER_GIB - self.disk_mb_used
        return min(unused, self.disk_available_least * MIB_PER_GIB)

    @property
    def num_building(self) -> int:
        return sum(entry.state is State.BUILDING for entry in self.entries)

    def stats(self) -> dict[str, int]:
        """Return free-form counts by name, with the names that Nova operators know."""
        counts: collections.Counter[str] = collections.Counter(num_instances=len(self.entries))
        for entry in self.entries:
            if entry.state in VM_STATES:
                counts[f"num_vm_{VM_STATES[entry.state]}"] += 1
            counts[f"num_task_{TASK_STATES.get(entry.state, 'None')}"] += 1
            counts[f"num_os_type_{entry.os_type}"] += 1
            counts[f"num_proj_{entry.project_id}"] += 1
        return {**counts, "io_workload": self.num_building, "failed_builds": self.failed_builds}

    def placed_instances(self) -> list[str]:
        """Return the instances that ``places`` counts, with builds that wait for their claim."""
        return [
            entry.instance_uuid
            for entry in self.entries
            if entry.place is not None
            or entry.former_place is not None
            or (entry.state is State.BUILDING and entry.place_wanted is not None)
        ]

    def flavors(self) -> dict[str, int]:
        """Return the number of instances by flavor id, without those being deleted."""
        counts = collections.Counter(e.flavor_id for e in self.entries if e.flavor_id is not None)
        return dict(sorted(counts.items()))

    def image_properties(self) -> dict[str, int]:
        """Return the number of instances by image property, as "name=value"."""
        return most_frequent(pair for entry in self.entries for pair in entry.image_pairs)


@functools.cache
def _booted_at() -> int:
    """Return the boot time as first read: later readings move as the clock is adjusted."""
    return int(psutil.boot_time())


TRACKER_COLLECTORS: dict[str, Callable[[HostFigures], Any]] = {
    "vcpus_total": lambda figures: figures.vcpus_total,
    "vcpus_used": lambda figures: figures.vcpus_used,
    "total_usable_ram_mb": lambda figures: figures.resources.memory_mb,
    "free_ram_mb": lambda figures: figures.resources.memory_mb - figures.memory_mb_used,
    "total_usable_disk_gb": lambda figures: figures.resources.disk_gb,
    "free_disk_mb": lambda figures: figures.free_disk_mb,
    "disk_available_least": lambda figures: figures.disk_available_least,
    "disk_mb_used": lambda figures: figures.disk_mb_used,
    "cpu_allocation_ratio": lambda figures: figures.ratios["VCPU"],
    "ram_allocation_ratio": lambda figures: figures.ratios["MEMORY_MB"],
    "disk_allocation_ratio": lambda figures: figures.ratios["DISK_GB"],
    "num_io_ops": lambda figures: figures.num_building,
    "failed_builds": lambda figures: figures.failed_builds,
    "stats": lambda figures: figures.stats(),
    "numa_topology": lambda figures: figures.places.topology and figures.places.topology.to_plain(),
    "pci_stats": lambda figures: pci_devices.pools(figures.places.devices),
    "pci_reserved": lambda figures: pci_devices.pools(figures.places.reserved_devices),
    "placed_instances": lambda figures: figures.placed_instances(),
    "instance_flavors": lambda figures: figures.flavors(),
    "instance_image_properties": lambda figures: figures.image_properties(),
    "booted_at": lambda _figures: _booted_at(),
}

MONITOR_COLLECTORS: dict[str, Callable[[HostFigures], Any]] = {
    "metrics": lambda figures: [dataclasses.asdict(metric) for metric in figures.metrics]
}


def collect(figures: HostFigures, driver_values: Mapping[str, Any]) -> dict[str, object]:
    """Return all attributes that an agent reports. ``driver_values`` were validated at startup."""
    values = {a.name: TRACKER_COLLECTORS[a.name](figures) for a in collected_by(Collector.TRACKER)}
    values |= {a.name: driver_values.get(a.name, a.default) for a in collected_by(Collector.DRIVER)}
    values |= {a.name: MONITOR_COLLECTORS[a.name](figures) for a in collected_by(Collector.MONITOR)}
    return values


def check_driver_values(driver: str, values: Mapping[str, Any]) -> None:
    """Raise ConfigurationError unless a driver reports exactly the declared attributes.

    Those whose default is None may be left out.
    """
    declared = {attribute.name for attribute in collected_by(Collector.DRIVER)}
    required = {each.name for each in collected_by(Collector.DRIVER) if each.default is not None}
    if not required <= values.keys() <= declared:
        raise exception.ConfigurationError(
            reason=f"driver {driver} does not report the declared attributes: "
            f"missing {sorted(required - values.keys())}, "
            f"unknown {sorted(values.keys() - declared)}"
        )
