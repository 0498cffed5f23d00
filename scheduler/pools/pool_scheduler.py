"""The scheduler of one kind of resource: a zone scheduler whose hosts are pools."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.allocations.allocation_candidates import AllocationCandidates
from objects.claims.resource_kinds import Figure, PoolAttribute, ResourceKind
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from scheduler import filters, request_filters
from scheduler.drivers.zone_scheduler import ZoneSearchingScheduler
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.usage import Amount, Derive
from scheduler.plugins import loading
from scheduler.pools.pool_store import PoolStore
from scheduler.pools.weigher import PoolWeigher
from scheduler.request_filters.disabled_hosts import DisabledHosts
from scheduler.selection.decision import Decision, GivenUp


class PoolsOfKind(request_filters.BaseRequestFilter):
    """Require the trait of a kind's pools."""

    def __init__(self, kind: ResourceKind) -> None:
        super().__init__()
        self._kind = kind

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        assert spec.request_level_params is not None
        spec.request_level_params.root_required.append(self._kind.trait)


FILTERS, WEIGHERS = "armillary.pool.filters", "armillary.pool.weighers"


class PoolScheduler(ZoneSearchingScheduler):
    """Selects pools for claims: same query, loop, selection, claim, zones and trace as for hosts.

    Filters and weighers are those of the kind. Raises as ``loading.load``.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        kind: ResourceKind,
        *,
        placement: PlacementAPI,
        clock: Callable[[], float],
        pool_clock: Callable[[], float],
        **parts: Any,
    ) -> None:
        self.kind = kind
        self.noun = f"{kind.name} pool"
        self._pools = PoolStore(conf, kind, placement=placement, clock=pool_clock)
        super().__init__(
            conf, host_store=self._pools.hosts, placement=placement, clock=clock, **parts
        )

    def _load_plugins(self) -> None:
        where = f"filters of the kind {self.kind.name!r}"
        self._request_filters = [DisabledHosts(self._conf), PoolsOfKind(self.kind)]
        self._filters = filters.FilterChain(
            loading.load(
                loading.entry_points(FILTERS),
                self.kind.filters,
                filters.BaseHostFilter,
                make=lambda each: each(self._conf),
                option=where,
            ),
            explained_max=self._conf.scheduler.trace_explained_hosts_max,
        )
        self._weighers = []
        for setting in self.kind.weighers:
            self._weighers += loading.load(
                loading.entry_points(WEIGHERS),
                [setting.name],
                PoolWeigher,
                make=functools.partial(_weigher, self._conf, self.kind.name, setting.multiplier),
                option=f"weighers of the kind {self.kind.name!r}",
            )

    def _derive_of(self, resource_class: str) -> Derive | None:
        attributes = self.kind.attributes_of(resource_class)
        return functools.partial(_derived, attributes) if attributes else None

    def _ask_placement(self, decision: Decision) -> AllocationCandidates:
        destination = decision.spec.requested_destination
        wanted = destination.host if destination else None
        self._pools.fetch(name=wanted)
        if wanted and not self._host_store.find_nodes("host", [wanted]):
            raise GivenUp(reason=f"There is no pool {wanted!r} of the kind {self.kind.name!r}.")
        candidates = super()._ask_placement(decision)
        self._pools.fetch(candidates.provider_uuids)
        return candidates


def _weigher(
    conf: cfg.ConfigOpts, kind: str, multiplier: float, each: type[PoolWeigher]
) -> PoolWeigher:
    return each(conf, kind=kind, default_multiplier=multiplier)


def _derived(
    attributes: list[PoolAttribute], total: Amount, reserved: Amount, used: Amount, ratio: Amount
) -> dict[str, Amount]:
    return {each.name: _figure(each.figure, total, reserved, used, ratio) for each in attributes}


def _figure(figure: Figure, total: Amount, reserved: Amount, used: Amount, ratio: Amount) -> Any:
    capacity = (total - reserved) * ratio
    match figure:
        case Figure.TOTAL:
            return total
        case Figure.USED:
            return used
        case Figure.FREE:
            return capacity - used
        case Figure.FREE_SHARE:
            return (capacity - used) / np.maximum(capacity, 1)
