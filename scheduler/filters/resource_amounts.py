"""Base classes of filters that compare requested memory, vCPUs or disk with a host's resources."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.aggregate_metadata import NumberOverride
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Numbers

MIB_PER_GIB = 1024


class Resource(abc.ABC):
    """A resource: its total and free amounts on a host, and the amount that a request needs.

    ``hosts`` is a ``HostState``, with one number each, or a ``HostTable``, with an array.
    """

    what: ClassVar[str]
    """Unit and name, for reasons."""
    ratio: ClassVar[str]
    """Host attribute that holds the allocation ratio; also a metadata key."""
    limit: ClassVar[str]
    """Field of ``SchedulerLimits``."""
    columns: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def asked(self, spec: RequestSpec) -> int:
        """Return the amount that one instance needs."""

    @abc.abstractmethod
    def total(self, hosts: Any) -> Any:
        """Return the total amount of each host."""

    @abc.abstractmethod
    def free(self, hosts: Any) -> Any:
        """Return the total minus what is used, without overcommit; may be negative."""

    def as_limit(self, amount: float) -> int:
        """Return an amount in the unit of the limit, rounded down."""
        return int(amount)


class Memory(Resource):
    """Memory, in MiB."""

    what = "MiB of memory"
    ratio = "ram_allocation_ratio"
    limit = "memory_mb"
    columns = ("total_usable_ram_mb", "free_ram_mb")

    def asked(self, spec: RequestSpec) -> int:
        return spec.flavor.memory_mb

    def total(self, hosts: Any) -> Any:
        return hosts.total_usable_ram_mb

    def free(self, hosts: Any) -> Any:
        return hosts.free_ram_mb


class Cores(Resource):
    """vCPUs."""

    what = "vCPUs"
    ratio = "cpu_allocation_ratio"
    limit = "vcpu"
    columns = ("vcpus_total", "vcpus_used")

    def asked(self, spec: RequestSpec) -> int:
        return spec.flavor.vcpus

    def total(self, hosts: Any) -> Any:
        return hosts.vcpus_total

    def free(self, hosts: Any) -> Any:
        return hosts.vcpus_total - hosts.vcpus_used


class Disk(Resource):
    """Disk, in MiB: the sum of root, ephemeral and swap disks."""

    what = "MiB of disk"
    ratio = "disk_allocation_ratio"
    limit = "disk_gb"
    columns = ("total_usable_disk_gb", "free_disk_mb")

    def asked(self, spec: RequestSpec) -> int:
        return spec.flavor.disk_gb * MIB_PER_GIB + spec.flavor.swap_mb

    def total(self, hosts: Any) -> Any:
        return hosts.total_usable_disk_gb * MIB_PER_GIB

    def free(self, hosts: Any) -> Any:
        return hosts.free_disk_mb

    def as_limit(self, amount: float) -> int:
        return int(amount / MIB_PER_GIB)


class WithinRatio(filters.BaseHostFilter):
    """Base of filters that allow overcommit up to the host's allocation ratio.

    A single instance may never exceed the host's total.
    """

    is_host_local = True

    resource: ClassVar[Resource]

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return bool(self._fits(host_state, self._ratio(host_state), spec))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = self._fits(hosts, self._ratios(hosts), spec)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        resource, asked = self.resource, self.resource.asked(spec)
        total = resource.total(host_state)
        if total < asked:
            return f"has {total} {resource.what} in total, {asked} requested"
        left = _left(resource, host_state, self._ratio(host_state))
        return f"has {max(left, 0):.0f} {resource.what} left, {asked} requested"

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
        resource = self.resource
        allowed = resource.total(host_state) * self._ratio(host_state)
        return {resource.limit: resource.as_limit(allowed)}

    def _fits(self, hosts: Any, ratio: Any, spec: RequestSpec) -> Any:
        asked = self.resource.asked(spec)
        return (self.resource.total(hosts) >= asked) & (_left(self.resource, hosts, ratio) >= asked)

    def _ratio(self, host_state: HostState) -> float:
        return float(getattr(host_state, self.resource.ratio))

    def _ratios(self, hosts: HostTable) -> Numbers:
        ratios: Numbers = hosts.column(self.resource.ratio)  # type: ignore[assignment]  # no list
        return ratios


class WithinAggregateRatio(WithinRatio):
    """Base of filters whose allocation ratio may be overridden by aggregate metadata.

    If several aggregates set it, the lowest value applies; invalid values are ignored.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._override = NumberOverride(self.resource.ratio)

    def _ratio(self, host_state: HostState) -> float:
        return self._override.of(host_state.aggregates, super()._ratio(host_state))

    def _ratios(self, hosts: HostTable) -> Numbers:
        return self._override.column(hosts, super()._ratios(hosts))


class Exactly(filters.BaseHostFilter):
    """Base of filters for whole-host instances: the request must use all that is free."""

    is_host_local = True

    resource: ClassVar[Resource]

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return bool(self.resource.free(host_state) == self.resource.asked(spec))

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = self.resource.free(hosts) == self.resource.asked(spec)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        resource = self.resource
        free, asked = resource.free(host_state), resource.asked(spec)
        return f"has {free} {resource.what} free, exactly {asked} requested"

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
        resource = self.resource
        return {resource.limit: resource.as_limit(resource.total(host_state))}


def _left(resource: Resource, hosts: Any, ratio: Any) -> Any:
    """Return the remaining capacity: the total times the ratio, minus what is used."""
    total = resource.total(hosts)
    return total * ratio - (total - resource.free(hosts))
