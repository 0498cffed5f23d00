"""Where each host attribute comes from: a collector for every one that is declared.

The tables follow ``objects.host_attributes``; an attribute that lacks a collector, or a driver that
leaves one out, is found by the tests and, for a plugin, at the agent's start.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from armillary import exception
from compute_agent.host_places import HostPlaces
from compute_agent.instance_facts import most_frequent
from compute_agent.journal import Entry, State
from compute_agent.reserved_amounts import MIB_PER_GIB, ReservedAmounts
from compute_agent.virt.driver import HostResources
from objects.host_attributes import Collector, collected_by

VM_STATES = {State.BUILDING: "building", State.RUNNING: "active", State.ENDED: "stopped"}
TASK_STATES = {State.BUILDING: "spawning", State.DELETING: "deleting"}


@dataclasses.dataclass(frozen=True, slots=True)
class HostFigures:
    """One moment of a host: what it has, what it keeps, what its instances take."""

    resources: HostResources
    reserved: ReservedAmounts
    entries: Sequence[Entry]
    ratios: Mapping[str, float]
    """Resource class -> allocation ratio in force."""
    failed_builds: int
    places: HostPlaces
    """What is left of NUMA cells and PCI devices."""
    metrics: Sequence[dict[str, Any]]
    """What monitors measured just now."""

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
    def num_building(self) -> int:
        return sum(entry.state is State.BUILDING for entry in self.entries)

    def stats(self) -> dict[str, int]:
        """Return the free-form counts that operators know, by name."""
        counts: collections.Counter[str] = collections.Counter(num_instances=len(self.entries))
        for entry in self.entries:
            if entry.state in VM_STATES:
                counts[f"num_vm_{VM_STATES[entry.state]}"] += 1
            counts[f"num_task_{TASK_STATES.get(entry.state, 'None')}"] += 1
            counts[f"num_os_type_{entry.os_type}"] += 1
            counts[f"num_proj_{entry.project_id}"] += 1
        return {**counts, "io_workload": self.num_building, "failed_builds": self.failed_builds}

    def numa_topology(self) -> dict[str, Any] | None:
        """Return the NUMA cells and what is used of them; None for a host that tells of none."""
        return None if self.places.topology is None else self.places.topology.to_plain()

    def flavors(self) -> dict[str, int]:
        """Return flavor id -> how many instances have it; those without one are being deleted."""
        counts = collections.Counter(e.flavor_id for e in self.entries if e.flavor_id is not None)
        return dict(sorted(counts.items()))

    def image_properties(self) -> dict[str, int]:
        """Return "name=value" -> how many instances were made from such an image."""
        return most_frequent(pair for entry in self.entries for pair in entry.image_pairs)


TRACKER_COLLECTORS: dict[str, Callable[[HostFigures], Any]] = {
    "vcpus_total": lambda figures: figures.vcpus_total,
    "vcpus_used": lambda figures: figures.vcpus_used,
    "total_usable_ram_mb": lambda figures: figures.resources.memory_mb,
    "free_ram_mb": lambda figures: figures.resources.memory_mb - figures.memory_mb_used,
    "total_usable_disk_gb": lambda figures: figures.resources.disk_gb,
    "free_disk_mb": lambda figures: figures.resources.disk_gb * MIB_PER_GIB - figures.disk_mb_used,
    "disk_mb_used": lambda figures: figures.disk_mb_used,
    "cpu_allocation_ratio": lambda figures: figures.ratios["VCPU"],
    "ram_allocation_ratio": lambda figures: figures.ratios["MEMORY_MB"],
    "disk_allocation_ratio": lambda figures: figures.ratios["DISK_GB"],
    "num_io_ops": lambda figures: figures.num_building,
    "failed_builds": lambda figures: figures.failed_builds,
    "stats": lambda figures: figures.stats(),
    "numa_topology": lambda figures: figures.numa_topology(),
    "pci_stats": lambda figures: figures.places.pools,
    "instance_flavors": lambda figures: figures.flavors(),
    "instance_image_properties": lambda figures: figures.image_properties(),
}

MONITOR_COLLECTORS: dict[str, Callable[[HostFigures], Any]] = {
    "metrics": lambda figures: list(figures.metrics),
}


def collect(figures: HostFigures, driver_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return every attribute that an agent reports. ``driver_values`` were checked at start."""
    values: dict[str, Any] = {}
    for attribute in collected_by(Collector.TRACKER):
        values[attribute.name] = TRACKER_COLLECTORS[attribute.name](figures)
    for attribute in collected_by(Collector.DRIVER):
        values[attribute.name] = driver_values[attribute.name]
    for attribute in collected_by(Collector.MONITOR):
        values[attribute.name] = MONITOR_COLLECTORS[attribute.name](figures)
    return values


def check_driver_values(driver: str, values: Mapping[str, Any]) -> None:
    """Raise ConfigurationError unless a driver reports exactly what is declared for it."""
    declared = {attribute.name for attribute in collected_by(Collector.DRIVER)}
    if declared != values.keys():
        raise exception.ConfigurationError(
            reason=f"driver {driver} does not report what it should: "
            f"missing {sorted(declared - values.keys())}, "
            f"unknown {sorted(values.keys() - declared)}"
        )
