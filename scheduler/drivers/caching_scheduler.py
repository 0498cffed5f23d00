"""The caching scheduler: filters and weighers on hosts as they were a minute ago; no claims."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from oslo_config import cfg

from armillary import exception
from objects.allocation_candidates import AllocationCandidates
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler import answers, resource_query
from scheduler.cached_hosts import CachedHosts
from scheduler.decision import Decision, GivenUp
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.fleet import Fleet
from scheduler.host_table import HostTable

LOG = logging.getLogger(__name__)

KNOWN_CLASSES = {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}
"""The resources that filters judge by what hosts report."""

CAPACITY_FILTERS = ("RamFilter", "CoreFilter", "DiskFilter")
"""Or those named Aggregate... after them."""


class CachingScheduler(FilterScheduler):
    """Filters and weighs all hosts as of its last refresh, and claims nothing.

    The hosts are taken over every ``[scheduler] periodic_task_interval`` seconds, and by the first
    request; in between, each worker process adds what it places itself. It asks placement nothing,
    so a decision is quick, may be out of date, and guards no capacity: without ``RamFilter``,
    ``CoreFilter`` and ``DiskFilter`` hosts are filled without end, and with several workers the
    limits that these filters write are held by the compute agent, which sends a server to its next
    alternate. Request filters do not run: ``AvailabilityZoneFilter``, ``ComputeFilter`` and
    ``AggregateMultiTenancyIsolation`` take the place of theirs. A request for a trait or for a
    resource other than CPUs, memory and disk is refused: only placement knows those.
    """

    uses_allocation_candidates: ClassVar[bool] = False

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        fleet: Fleet,
        placement: PlacementAPI,
        dice: random.Random,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(conf, fleet=fleet, placement=placement, dice=dice, clock=clock, now=now)
        self._cache = CachedHosts(conf, fleet=fleet, clock=clock)
        missing = [
            name
            for name in CAPACITY_FILTERS
            if self._plugin_names.isdisjoint((name, f"Aggregate{name}"))
        ]
        if missing:
            LOG.warning(
                "caching_scheduler claims nothing in placement, and [filter_scheduler] "
                "enabled_filters is without %s: hosts are filled beyond their capacity",
                ", ".join(missing),
            )

    def refresh(self) -> None:
        self._cache.refresh()

    def _ask_placement(self, decision: Decision) -> None:
        reason = _needs_placement(decision.spec)
        if reason is not None:
            decision.trace.refused_by_request_filter(reason)
            raise GivenUp(reason=reason)

    def _offers(
        self, decision: Decision, candidates: AllocationCandidates | None
    ) -> tuple[HostTable, answers.Requester]:
        hosts = self._cache.table(decision.spec)
        decision.trace.looked_at(len(hosts))
        if len(hosts) == 0:
            raise GivenUp(reason=answers.NO_HOST_KNOWN)
        return hosts, answers.unclaimed

    def _remember(self, decisions: Sequence[Decision], hosts: HostTable) -> None:
        self._cache.place(
            decisions[0].spec,
            [
                (hosts.value("uuid", wanted.position), wanted.instance_uuid)
                for decision in decisions
                for wanted in decision.instances
            ],
        )


def _needs_placement(spec: RequestSpec) -> str | None:
    """Say what of a request only placement could judge; None when there is nothing of that kind."""
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
        f"The request needs what only placement knows ({', '.join(sorted(wanted))}), which the "
        "caching scheduler does not ask."
    )
