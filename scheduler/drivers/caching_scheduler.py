"""The caching scheduler: filters and weighers on cached hosts, without claims."""

import logging
from collections.abc import Sequence
from typing import ClassVar

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.hosts.cached_hosts import CachedHosts
from scheduler.hosts.host_ledger import HostLedger
from scheduler.request import resource_query
from scheduler.selection import responses
from scheduler.selection.assumed_placements import AssumedPlacement, AssumedPlacementsView
from scheduler.selection.decision import Decision, GivenUp

LOG = logging.getLogger(__name__)

KNOWN_CLASSES = {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}
"""Resource classes that filters can check against host reports."""

CAPACITY_FILTERS = ("RamFilter", "CoreFilter", "DiskFilter")
"""Filters that guard capacity; the Aggregate... variants count, too."""


class CachingScheduler(FilterScheduler):
    """Filters and weighs the hosts of its last refresh, and claims nothing.

    The hosts are reloaded every ``[scheduler] periodic_task_interval`` seconds, and by the first
    request; in between, each worker process adds its own placements. It never queries placement, so
    a decision is fast, may be stale, and does not protect capacity. Without ``RamFilter``,
    ``CoreFilter`` and ``DiskFilter``, hosts are overcommitted without limit. With several workers,
    the compute agent enforces the limits that these filters set, and a rejected server goes to its
    next alternate. Request filters do not run: use ``AvailabilityZoneFilter``, ``ComputeFilter``
    and ``AggregateMultiTenancyIsolation`` instead. A request for a trait, or for a resource other
    than CPUs, memory and disk, is rejected, because only placement tracks those.
    """

    uses_allocation_candidates: ClassVar[bool] = False

    def _prepare(self) -> None:
        super()._prepare()
        self._cache = CachedHosts(self._conf, host_store=self._host_store, clock=self._clock)
        missing = [
            name
            for name in CAPACITY_FILTERS
            if self._plugin_names.isdisjoint((name, f"Aggregate{name}"))
        ]
        if missing:
            LOG.warning(
                "caching_scheduler claims nothing in placement, and [filter_scheduler] "
                "enabled_filters does not include %s: hosts can be filled beyond their capacity",
                ", ".join(missing),
            )

    def refresh(self) -> None:
        self._cache.refresh()

    def _find_hosts(self, decision: Decision, view: AssumedPlacementsView) -> HostLedger:
        reason = _needs_placement(decision.spec)
        if reason is not None:
            decision.trace.refused_by_request_filter(reason)
            raise GivenUp(reason=reason)
        with decision.trace.stage("hosts"):
            ledger = self._cache.ledger(decision.spec)
        decision.trace.set_hosts_considered(len(ledger))
        if len(ledger) == 0:
            raise GivenUp(reason=responses.NO_HOST_KNOWN)
        return ledger

    def _remember(self, spec: RequestSpec, placements: Sequence[AssumedPlacement]) -> None:
        self._cache.place(spec, [(each.node_uuid, each.instance_uuid) for each in placements])


def _needs_placement(spec: RequestSpec) -> str | None:
    """Return which part of a request only placement can check; None if there is none."""
    try:
        query = resource_query.build(spec, limit=0)
    except (exception.RequestFilterFailed, exception.InvalidResourceQuery) as error:
        return error.message
    wanted = {name for group in query.groups for name in group.resources} - KNOWN_CLASSES
    for group in query.groups:
        wanted.update(trait for traits in group.required_traits for trait in traits)
        wanted.update(group.forbidden_traits)
    wanted.update(query.root_required, query.root_forbidden)
    if not wanted:
        return None
    return (
        f"The request needs {', '.join(sorted(wanted))}, which only placement can check; the "
        "caching scheduler does not use placement."
    )
