"""Base classes of filters that compare requested memory, vCPUs or disk with a host's resources."""

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.aggregate_metadata import NumberOverride
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Numbers

MIB_PER_GIB = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A resource: its total and free amounts on a host, and the amount that a request needs.

    ``total`` and ``free`` take a ``HostState``, and return a number, or a ``HostTable``, and return
    an array. Free is the total minus what is used, without overcommit; it may be negative. ``what``
    is unit and name, for reasons. ``ratio`` is the host attribute that holds the allocation ratio;
    also a metadata key. ``limit`` is the field of ``SchedulerLimits``, in units of ``limit_unit``.
    """

    what: str
    ratio: str
    limit: str
    columns: tuple[str, ...]
    asked: Callable[[RequestSpec], int]
    total: Callable[[Any], Any]
    free: Callable[[Any], Any]
    limit_unit: int = 1

    def limits(self, amount: float) -> dict[str, int]:
        """Return the limit for an amount, rounded down."""
        return {self.limit: int(amount / self.limit_unit)}


MEMORY = Resource(
    what="MiB of memory",
    ratio="ram_allocation_ratio",
    limit="memory_mb",
    columns=("total_usable_ram_mb", "free_ram_mb"),
    asked=lambda spec: spec.flavor.memory_mb,
    total=lambda hosts: hosts.total_usable_ram_mb,
    free=lambda hosts: hosts.free_ram_mb,
)
CORES = Resource(
    what="vCPUs",
    ratio="cpu_allocation_ratio",
    limit="vcpu",
    columns=("vcpus_total", "vcpus_used"),
    asked=lambda spec: spec.flavor.vcpus,
    total=lambda hosts: hosts.vcpus_total,
    free=lambda hosts: hosts.vcpus_total - hosts.vcpus_used,
)
DISK = Resource(  # the sum of root, ephemeral and swap disks
    what="MiB of disk",
    ratio="disk_allocation_ratio",
    limit="disk_gb",
    columns=("total_usable_disk_gb", "free_disk_mb"),
    asked=lambda spec: spec.disk_gb * MIB_PER_GIB + spec.flavor.swap_mb,
    total=lambda hosts: hosts.total_usable_disk_gb * MIB_PER_GIB,
    free=lambda hosts: hosts.free_disk_mb,
    limit_unit=MIB_PER_GIB,
)


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

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, int]:
        resource = self.resource
        allowed = resource.total(host_state) * self._ratio(host_state)
        return resource.limits(allowed)

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

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, int]:
        return self.resource.limits(self.resource.total(host_state))


def _left(resource: Resource, hosts: Any, ratio: Any) -> Any:
    """Return the remaining capacity: the total times the ratio, minus what is used."""
    total = resource.total(hosts)
    return total * ratio - (total - resource.free(hosts))


LOG = logging.getLogger(__name__)

_WARNED_MAX = 1000


class CoresWithinRatio(WithinRatio):
    """Base of both filters. A host that reports no vCPUs passes, without a limit.

    Each such host is logged once.
    """

    host_attributes = ("host", *CORES.columns, CORES.ratio)

    resource = CORES

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._warned: set[str] = set()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        if not host_state.vcpus_total:
            self._warn(host_state.host)
            return True
        return super().host_passes(host_state, spec)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        is_unknown = hosts.vcpus_total == 0
        for position in np.flatnonzero(is_unknown)[:_WARNED_MAX].tolist():
            self._warn(hosts.value("host", position))
        mask: filters.Mask = super().host_mask(hosts, spec) | is_unknown
        return mask

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, int]:
        return super().limits(host_state, spec) if host_state.vcpus_total else {}

    def _warn(self, host: str) -> None:
        if host not in self._warned and len(self._warned) < _WARNED_MAX:
            self._warned.add(host)
            LOG.warning("%s reports no vCPUs; %s passes it", host, type(self).__name__)
