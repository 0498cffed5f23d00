"""Actual state of the simulated hosts: capacity, instances, and what their agents would report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from objects import numa
from simulator.fleet.host_report import attributes_of, columns_of, topology_of, uuid_of
from simulator.scenario.scenario import Amount, HostShape, Scenario

Amounts = npt.NDArray[np.float64]

_NOTHING = Amount(0)


@dataclass(slots=True)
class PlacedInstance:
    """An instance on a host."""

    uuid: str
    flavor: str
    project: str
    amounts: Amounts
    properties: Sequence[str] = ()
    """Properties of its image, as ``name=value``."""
    fitted: numa.InstanceTopology | None = None
    """Its NUMA cells on the host, if it requested a topology."""
    is_building: bool = True


@dataclass(slots=True)
class Host:
    """One host; ``row`` is its row in the arrays of the book."""

    row: int
    name: str
    uuid: str
    shape: HostShape
    numa: numa.HostTopology | None = None
    tenants: dict[str, PlacedInstance] = field(default_factory=dict)
    building: int = 0
    failed_builds: int = 0
    is_down: bool = False
    is_reported_up: bool = True
    flavors: Counter[str] = field(default_factory=Counter)
    properties: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)


class HostStates:
    """All hosts and their resource classes. Checks that capacity is never exceeded."""

    def __init__(self, scenario: Scenario) -> None:
        self.hosts = [
            Host(row, name, uuid_of("host", name), shape, topology_of(shape))
            for row, (shape, name) in enumerate(
                (shape, name) for shape in scenario.shapes for name in shape.names
            )
        ]
        self.by_uuid = {host.uuid: host for host in self.hosts}
        self.classes = _classes(scenario.shapes)
        self.capacity = self._column(lambda amount: amount.capacity)
        self.used = np.zeros_like(self.capacity)
        self.used_total = np.zeros(len(self.classes))
        self.instances = np.zeros(len(self.hosts), dtype=np.int64)
        self.is_up = np.ones(len(self.hosts), dtype=np.bool_)
        self.changed: dict[int, Host] = {host.row: host for host in self.hosts}
        """Hosts whose attributes changed since their last report, by row."""

    def amounts_of(self, resources: Mapping[str, int]) -> Amounts:
        return np.array([resources.get(name, 0) for name in self.classes], np.float64)

    def has_room(self, host: Host, amounts: Amounts) -> bool:
        return bool((self.used[host.row] + amounts <= self.capacity[host.row]).all())

    def enter(self, host: Host, tenant: PlacedInstance) -> None:
        """Reserve an instance's resources on a host, for its build."""
        assert self.has_room(host, tenant.amounts), f"{host.name} would exceed its capacity"
        self._take(host, tenant, 1)
        host.tenants[tenant.uuid] = tenant
        host.building += 1

    def built(self, host: Host, tenant: PlacedInstance) -> None:
        tenant.is_building = False
        host.building -= 1
        host.failed_builds = 0
        self.changed[host.row] = host

    def leave(self, host: Host, tenant: PlacedInstance, *, is_failed: bool = False) -> None:
        """Remove an instance; ``is_failed`` if its build failed."""
        del host.tenants[tenant.uuid]
        host.building -= tenant.is_building
        host.failed_builds += is_failed
        self._take(host, tenant, -1)

    def set_up(self, host: Host, *, is_up: bool) -> None:
        host.is_reported_up = is_up
        self.changed[host.row] = host

    def set_down(self, host: Host, *, is_down: bool) -> None:
        host.is_down = is_down
        self.is_up[host.row] = not is_down

    def columns(self, hosts: Sequence[Host]) -> dict[str, list[Any]]:
        """Return the attributes of hosts as a cell pushes them."""
        return columns_of([self._attributes(host) for host in hosts])

    def _take(self, host: Host, tenant: PlacedInstance, sign: int) -> None:
        if host.numa is not None and tenant.fitted is not None:
            change = numa.consume if sign > 0 else numa.release
            host.numa = change(host.numa, tenant.fitted)
        self.used[host.row] += sign * tenant.amounts
        self.used_total += sign * tenant.amounts
        self.instances[host.row] += sign
        host.flavors[tenant.flavor] += sign
        host.projects[tenant.project] += sign
        for pair in tenant.properties:
            host.properties[pair] += sign
        self.changed[host.row] = host

    def _attributes(self, host: Host) -> dict[str, object]:
        used = dict(zip(self.classes, self.used[host.row].astype(int).tolist(), strict=True))
        return {
            **attributes_of(host.shape, host.name, used, list(host.tenants)),
            "num_io_ops": host.building,
            "failed_builds": host.failed_builds,
            "service_up": host.is_reported_up,
            "stats": _stats(host),
            "numa_topology": None if host.numa is None else host.numa.to_plain(),
            "instance_flavors": _present(host.flavors),
            "instance_image_properties": _present(host.properties),
        }

    def _column(self, value: Any) -> Amounts:
        of_shape = {
            id(shape): [value(shape.amounts.get(name, _NOTHING)) for name in self.classes]
            for shape in (host.shape for host in self.hosts)
        }
        return np.array([of_shape[id(host.shape)] for host in self.hosts], np.float64)


def _classes(shapes: Iterable[HostShape]) -> list[str]:
    first = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
    names = {name for shape in shapes for name in shape.amounts}
    return [*(name for name in first if name in names), *sorted(names.difference(first))]


def _stats(host: Host) -> dict[str, int]:
    return {
        "num_instances": len(host.tenants),
        "io_workload": host.building,
        "failed_builds": host.failed_builds,
        **{f"num_proj_{project}": count for project, count in _present(host.projects).items()},
    }


def _present(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
