"""The zone scheduler: the filter scheduler, and the zones below this one."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool
from objects import uncoerced
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.instance_group import AFFINITY
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler import answers
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.fleet import Fleet
from scheduler.scheduling_request import Outcome, SchedulingRequest
from scheduler.side_by_side import side_by_side
from scheduler.zones.search import Found, Plan, ZoneSearch, bound_to_zones

_WORKERS = 16
_WAITING_MAX = 10_000


class ZoneScheduler(FilterScheduler):
    """Asks the zones below, too, and answers with the best hosts of all, the best first.

    A zone whose capabilities rule a request out is not asked; the others are, all at the same time.
    What they offer is joined with this zone's hosts and weighed again. Then nothing is claimed: the
    hosts are tried one after the other, each claimed by its own zone. A request that has to go to
    servers of its affinity group in other zones goes there or nowhere. Where there is no child,
    none that could serve the request, or only hosts of this zone are left, it does what
    filter_scheduler does. So do requests for certain hosts of this zone. Needs ``[zones] name``.
    """

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
        if not conf.zones.name:
            raise exception.ConfigurationError(
                reason="[scheduler] driver = zone_scheduler needs a name: [zones] name"
            )
        super().__init__(conf, fleet=fleet, placement=placement, dice=dice, clock=clock, now=now)
        self._search: ZoneSearch | None = None
        self._askers = WorkerPool(_WORKERS, "zone-requests", queue_size_max=_WAITING_MAX)

    def search_with(self, search: ZoneSearch) -> None:
        """Ask the children that this search knows; to be called before the first decision."""
        self._search = search

    def select_many(self, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
        search = self._search
        if search is None or not search.has_children:
            return super().select_many(requests)
        asked = [_Asked(request, *_planned(search, request)) for request in requests]
        works = [partial(self._ask, search, one) for one in asked if one.is_for_zones]
        if works:
            side_by_side(self._askers, works)
        for one in asked:
            if one.outcome is None and (bound_to := one.bound_to):
                one.outcome = self._no_host_beside(one, bound_to)
        local = [one for one in asked if one.outcome is None]
        if local:
            found = super().select_many([one.request for one in local])
            for one, outcome in zip(local, found, strict=True):
                one.outcome = _with_zones(outcome, one.zones)
        return [one.outcome for one in asked if one.outcome is not None]

    def _ask(self, search: ZoneSearch, asked: _Asked) -> None:
        """Ask the zones; leave the outcome open where this zone is to decide by itself."""
        assert asked.plan is not None
        try:
            query = search.origin_query(asked.request)
            found = search.search(asked.request.context, query, asked.plan)
        except Exception as error:
            asked.outcome = error
            return
        if all(not path for path in found.offers.paths):
            asked.zones = [zone for zone in found.zones if zone["path"]]
            return
        asked.outcome = self._destinations_of(asked.request, found)

    def _no_host_beside(self, asked: _Asked, bound_to: Sequence[str]) -> Exception:
        """Return how a request ends whose affinity group is in zones that have no host for it."""
        names = ", ".join(bound_to)
        why = [
            f"zone {'/'.join(zone['path'])}: {zone['reason'] or 'no host'}"
            for zone in asked.zones
            if zone["path"] and not zone["hosts"] and _leads_to("/".join(zone["path"]), bound_to)
        ]
        group = asked.request.request_spec.instance_group
        policy = None if group is None else group.policy
        sentence = (
            f"The policy {policy} of its server group keeps it with the group's members, which are "
            f"in zone {names}, and no host is left beside them there"
        )
        trace = DecisionTrace.from_values(
            request_id=asked.request.context.request_id,
            created_at=self._now(),
            zones=asked.zones,
            sentence=f"{sentence} ({'; '.join(dict.fromkeys(why))})." if why else f"{sentence}.",
        )
        return answers.no_valid_host(trace)

    def _destinations_of(self, request: SchedulingRequest, found: Found) -> Destinations:
        trace = found.own_trace or DecisionTrace.from_values(
            request_id=request.context.request_id, created_at=self._now()
        )
        trace.zones = found.zones
        trace.sentence = None  # of the own hosts, which are not all
        trace.obj_reset_changes()
        offers = zip(found.offers.host_ids, found.offers.paths, strict=True)
        entries: list[dict[str, Any]] = [
            {"host_id": host_id, "path": path} for host_id, path in offers
        ]
        if request.dry_run:
            self._name_own_hosts(entries)
        return uncoerced.make(
            Destinations,
            hosts=[],
            choices=np.zeros((len(request.instance_uuids), 0), dtype=np.int64),
            trace=trace,
            zone_entries=entries,
        )

    def _name_own_hosts(self, entries: Sequence[dict[str, Any]]) -> None:
        """Say what hosts of this zone are called, for people: who builds goes by the ids."""
        own = [entry for entry in entries if not entry["path"]]
        rows = self._fleet.rows_of(entry["host_id"] for entry in own)
        hosts = self._fleet.view_all()
        positions = hosts.positions_of(rows)
        for entry in own:
            position = positions.get(entry["host_id"])
            if position is not None:
                host = entry["host"] = hosts.value("host", position)
                entry["availability_zone"] = hosts.facts.zone_of(
                    host, self._conf.default_availability_zone
                )
                entry["node"] = hosts.value("nodename", position)


@dataclasses.dataclass(eq=False, slots=True)
class _Asked:
    """A request on its way; ``zones`` is told of it where this zone decides by itself."""

    request: SchedulingRequest
    plan: Plan | None
    zones: list[dict[str, Any]]
    outcome: Outcome | None = None

    @property
    def is_for_zones(self) -> bool:
        return self.plan is not None and bool(self.plan.to_ask)

    @property
    def bound_to(self) -> list[str]:
        """The zones that alone may have the host, none where this zone may decide as well."""
        return [] if self.plan is None else bound_to_zones(self.request.request_spec)


def _planned(
    search: ZoneSearch, request: SchedulingRequest
) -> tuple[Plan | None, list[dict[str, Any]]]:
    if not request.takes_zones or _is_for_own_hosts(request.request_spec):
        return None, []
    plan = search.plan(request.request_spec)
    return plan, plan.told


def _is_for_own_hosts(spec: RequestSpec) -> bool:
    """Tell whether no other zone can have the host: it is about certain hosts or servers here."""
    destination, group = spec.requested_destination, spec.instance_group
    return bool(
        spec.is_forced
        or spec.is_rebuild_check
        or (destination and (destination.names_a_host or destination.cell_uuid))
        or (destination and destination.own_zone_only)
        or spec.hint("same_host")
        or (group is not None and group.policy == AFFINITY and group.hosts)
    )


def _leads_to(path: str, bound_to: Sequence[str]) -> bool:
    return any(f"{wanted}/".startswith(f"{path}/") for wanted in bound_to)


def _with_zones(outcome: Outcome, zones: list[dict[str, Any]]) -> Outcome:
    """Return the outcome of this zone alone, with what is to be told of the others."""
    if not zones:
        return outcome
    if isinstance(outcome, Destinations):
        outcome.trace.zones = zones
        outcome.trace.obj_reset_changes()
        return outcome
    if isinstance(outcome, exception.NoValidHost):
        trace = DecisionTrace.obj_from_primitive(outcome.kwargs["trace"])
        trace.zones = zones
        trace.sentence = f"{trace.sentence or 'No host in this zone.'} {_sentence(zones)}"
        trace.obj_reset_changes()
        return answers.no_valid_host(trace)
    return outcome


def _sentence(zones: Sequence[dict[str, Any]]) -> str:
    """Say why no other zone had a host, without names: users read it."""
    counts = Counter(zone["outcome"] for zone in zones)
    parts = [f"{counts[outcome]:,} {words}" for outcome, words in _WORDS.items() if counts[outcome]]
    return f"Of the zones below, {', '.join(parts)}."


_WORDS = {
    "asked": "asked in vain",
    "pruned": "without what is needed",
    "late": "too late with the answer",
    "failed": "unable to answer",
    "stale": "silent",
    "offline": "offline",
    "disabled": "disabled",
    "cycle": "asked before",
}
