"""Search of a zone and its sub-tree: local hosts, the children's offers, and the best of both.

The same holds for the pools of a kind, in place of hosts.
"""

from __future__ import annotations

import dataclasses
import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.metrics import service_metrics
from objects.allocations.resource_query import ResourceQuery
from objects.claims.resource_kinds import get_kind
from objects.instances.instance_group import AFFINITY
from objects.request_spec import RequestLevelParams, RequestSpec
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from scheduler.filters import BaseHostFilter
from scheduler.plugins import plugin_calls
from scheduler.request import resource_query
from scheduler.request.scheduling_request import HostOffer, SchedulingRequest
from scheduler.weights import BaseHostWeigher
from scheduler.zones.capabilities import Capabilities
from scheduler.zones.child_queries import ChildQueries, ZoneLinks
from scheduler.zones.children import PLAIN, Child, Children, State, zones_below
from scheduler.zones.offers import Offers, ZoneEntry, as_answer, merge_offers

LOG = logging.getLogger(__name__)

_SHARE_OF_TIME = 0.8
"""Share of the remaining time that children get for their own children."""

_IN_OTHER_ZONES = "members of its server group are in other zones"
_UNHEARD_MAX = 100
_NOT_PUSHED = "it has not pushed a summary since this scheduler's start; last seen: {}"


class Decider(Protocol):
    """Source of this zone's hosts; a scheduler driver."""

    @property
    def plugin_filters(self) -> Sequence[BaseHostFilter]: ...

    @property
    def plugin_weighers(self) -> Sequence[BaseHostWeigher]: ...

    def offer(self, request: SchedulingRequest) -> HostOffer:
        """Return the hosts that can take an instance. Raises ``NoValidHost``."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The children to query, and the trace entries of the others.

    ``notes`` has the ages of the summaries of the children to query.
    """

    to_ask: list[str]
    left_out: list[ZoneEntry]
    notes: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The best hosts of a sub-tree, its zones' trace entries, and the trace of the local hosts."""

    offers: Offers
    zones: list[ZoneEntry]
    own_trace: DecisionTrace | None


class ZoneSearch:
    """Searches a zone and its sub-tree. Thread-safe; claims nothing."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        decider: Decider,
        children: Children,
        links: ZoneLinks,
        rng: random.Random,
    ) -> None:
        self._conf = conf
        self._decider = decider
        self._children = children
        self._asking = ChildQueries(
            links, [type(each).__name__ for each in decider.plugin_weighers]
        )
        self._pruner = Pruner(decider.plugin_filters)
        self._rng = rng

    @property
    def has_children(self) -> bool:
        """Whether there are any child zones."""
        return len(self._children) > 0

    def plan(
        self, spec: RequestSpec, visited: Sequence[str] = (), only: Sequence[Sequence[str]] = ()
    ) -> Plan:
        """Return which children to query, by comparing the request with their capabilities.

        ``only`` as in ``ZoneQuery``.
        """
        needs = needs_of(spec)
        plan = Plan([], [])
        bound_to = bound_to_zones(spec)
        names = {path.partition("/")[0] for path in bound_to}
        searched = {path[0] for path in only}
        for child in self._children.all():
            if searched and child.name not in searched:
                continue
            outcome, reason = self._reason_to_skip(child, visited)
            if outcome is None and bound_to and child.name not in names:
                outcome, reason = "pruned", f"{_IN_OTHER_ZONES}: {', '.join(bound_to)}"
            elif outcome is None and self._children.is_new(child):
                plan.to_ask.append(child.name)
                plan.notes[child.name] = _NOT_PUSHED.format(child.last_seen or "never")
                continue
            elif outcome is None and child.capabilities is not None:
                profile = self._conf.zones.weighing_profile
                reason = self._pruner.why_not(child.capabilities, needs, profile)
                if reason is None:
                    plan.to_ask.append(child.name)
                    continue
                outcome = "pruned"
                service_metrics.ZONES_PRUNED.add()
                unheard = _unheard_below(child)
                plan.left_out.extend(unheard)
                if unheard:
                    listed = ", ".join("/".join(zone.path) for zone in unheard)
                    reason = f"{reason}; not counting silent zones: {listed}"
            may_serve = outcome == "stale" and self._could_serve(child, needs)
            left_out = ZoneEntry([child.name], outcome or "offline", reason=reason)
            plan.left_out.append(dataclasses.replace(left_out, may_serve=may_serve))
        return plan

    def origin_query(self, request: SchedulingRequest) -> ZoneQuery:
        """Return the query for a request that originates in this zone."""
        return ZoneQuery.from_values(
            request_id=request.context.request_id,
            visited=[],
            request_spec=request.request_spec,
            instance_uuids=list(request.instance_uuids),
            entries_max=self._limit(self._conf.zones.entries_max, request.instance_uuids),
            time_limit_seconds=self._conf.zones.select_timeout_seconds,
            profile=self._conf.zones.weighing_profile,
            only=[path.split("/") for path in request.only_zones],
        )

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent's query."""
        if self._conf.zones.name in query.visited:
            reason = f"the query already passed through {' > '.join(query.visited)}"
            return as_answer(Offers.none(), zones=[ZoneEntry([], "cycle", reason=reason)])
        if query.profile != self._conf.zones.weighing_profile:
            reason = (
                f"it uses the weighing profile {self._conf.zones.weighing_profile!r}, requested "
                f"is {query.profile!r}"
            )
            LOG.error("%s: rejected a parent zone's query: %s",
                      query.request_id, reason)  # fmt: skip
            return as_answer(Offers.none(), zones=[ZoneEntry([], "failed", reason=reason)])
        if not all(query.only):
            query = query.with_values(only=[])
        plan = self.plan(query.request_spec, query.visited, query.only)
        found = self.search(context, query, plan)
        was_pruned = bool(plan.left_out) and not plan.to_ask and not len(found.offers)
        return as_answer(found.offers, zones=found.zones, was_pruned=was_pruned)

    def search(self, context: RequestContext, query: ZoneQuery, plan: Plan) -> Found:
        """Query the plan's children and, at the same time, this zone's own hosts."""
        below = self._for_children(query)
        waiting = self._asking.begin(
            {name: _limited_to(below, name) for name in plan.to_ask},
            context,
            query.time_limit_seconds,
        )
        own, own_told, own_trace = self._own(context, query)
        heard = waiting()
        zones = [*own_told, *plan.left_out, *(zone for each in heard for zone in each.zones)]
        if plan.notes:
            zones = [_noted(zone, plan.notes) for zone in zones]
        adjustments = self._children.adjustments()
        parts = [
            own,
            *(
                each.offers.adjusted(*adjustments.get(name, PLAIN))
                for name, each in zip(plan.to_ask, heard, strict=True)
            ),
        ]
        limit = self._limit(
            min(query.entries_max, self._conf.zones.entries_max), query.instance_uuids
        )
        offers = merge_offers(parts, self._decider.plugin_weighers, limit=limit, rng=self._rng)
        return Found(offers, zones, own_trace)

    def _own(
        self, context: RequestContext, query: ZoneQuery
    ) -> tuple[Offers, list[ZoneEntry], DecisionTrace | None]:
        """Return the local hosts, their trace entry, and the trace of how they were found.

        There is no entry if only other zones are searched.
        """
        if query.only:
            return Offers.none(), [], None
        started = time.monotonic()
        request = SchedulingRequest(
            context, query.request_spec, query.instance_uuids, [0] * len(query.instance_uuids)
        )
        offers, trace, reason = Offers.none(), None, None
        if _belongs_elsewhere(query):
            reason = _IN_OTHER_ZONES
        else:
            try:
                offer = self._decider.offer(request)
                offers = Offers.own(offer.node_uuids, offer.weights, offer.is_fallback)
                trace = offer.trace
            except exception.NoValidHost as error:
                trace = DecisionTrace.obj_from_primitive(error.kwargs["trace"])
                reason = trace.sentence
            except (exception.UnsupportedPolicy, exception.Invalid) as error:
                reason = error.message
            except exception.Unavailable as error:  # the children may still have a host
                LOG.warning("%s: skipping this zone's own hosts: %s", query.request_id, error)
                reason = error.message
        seconds = time.monotonic() - started
        return offers, [ZoneEntry([], "own", len(offers), seconds, reason)], trace

    def _for_children(self, query: ZoneQuery) -> ZoneQuery:
        """Return the query for the children, without anything that applies only in this zone."""
        spec = query.request_spec.with_values(request_level_params=None, limits=None)
        if spec.kind is None:  # a pool has the name that a claim names in any zone
            spec.requested_destination = None
        if spec.instance_group is not None:
            spec.instance_group = spec.instance_group.with_values(hosts=[], zone_paths=[])
        return query.with_values(
            request_spec=spec,
            visited=[*query.visited, self._conf.zones.name],
            time_limit_seconds=query.time_limit_seconds * _SHARE_OF_TIME,
        )

    def _could_serve(self, child: Child, needs: Needs) -> bool:
        """Return whether a child could serve a request by its last summary."""
        if child.capabilities is None:
            return True
        profile = self._conf.zones.weighing_profile
        return self._pruner.why_not(child.capabilities, needs, profile) is None

    def _reason_to_skip(
        self, child: Child, visited: Sequence[str]
    ) -> tuple[str | None, str | None]:
        """Return outcome and reason if a child cannot be queried at all, else two Nones."""
        state = self._children.state_of(child)
        if child.name in visited or child.name == self._conf.zones.name:
            return "cycle", "the query was already there"
        if self._children.is_new(child):
            return None, None
        if state is State.DISABLED:
            return "disabled", "it is disabled in this zone"
        if state is State.STALE:
            return "stale", f"its last summary arrived at {child.last_seen}"
        if state is State.OFFLINE:
            return "offline", "no recent summary arrived from it"
        return None, None

    @staticmethod
    def _limit(entries_max: int, instance_uuids: Sequence[str]) -> int:
        return max(entries_max, len(instance_uuids))


def _limited_to(query: ZoneQuery, name: str) -> ZoneQuery:
    """Return the query for a child, with the zones to search relative to it; none for all."""
    if not query.only:
        return query
    rest = [path[1:] for path in query.only if path[0] == name]
    return query.with_values(only=rest if all(rest) else [])


def _unheard_below(child: Child) -> list[ZoneEntry]:
    """Return the zones below a child that its own parent does not hear from.

    Their hosts are not in the child's summary, and might serve the request.
    """
    if child.summary is None:
        return []
    return [
        ZoneEntry(
            [child.name, *path],
            state,
            reason=f"zone {above} has no recent summary of it",
            may_serve=state == State.STALE,
        )
        for path, state in zones_below(child.summary.zones)
        if state in (State.STALE, State.OFFLINE)
        for above in [path[-2] if len(path) > 1 else child.name]
    ][:_UNHEARD_MAX]


def _noted(zone: ZoneEntry, notes: Mapping[str, str]) -> ZoneEntry:
    """Return the entry of a child that answered, with the note on it."""
    if len(zone.path) != 1 or zone.outcome != "asked" or zone.reason or zone.path[0] not in notes:
        return zone
    return dataclasses.replace(zone, reason=notes[zone.path[0]])


def bound_to_zones(spec: RequestSpec) -> list[str]:
    """Return the paths of the zones to which server group affinity restricts a request.

    Empty if the request may use any zone, if its group has hosts in this zone, or if it came from
    another zone: only the origin knows where members in other zones are.
    """
    group = spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return []
    return sorted(group.zone_paths)


def _belongs_elsewhere(query: ZoneQuery) -> bool:
    """Return whether affinity requires hosts of group members, none of which are in this zone.

    At the origin, members that no zone has are still unscheduled and may get a host in this zone.
    """
    group = query.request_spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return False
    if not query.visited:
        return bool(group.zone_paths)
    return bool(set(group.members).difference(query.instance_uuids))


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """Requirements that apply to every host for a request, in any zone.

    ``queries`` are the alternative placement queries, one of which must be satisfied. They contain
    the requirements of flavor and image, but nothing that the request filters, aggregates and
    options of a single zone add.
    """

    spec: RequestSpec
    queries: tuple[ResourceQuery, ...]


def needs_of(spec: RequestSpec) -> Needs:
    """Return the needs of a request; no queries if it cannot be expressed as a placement query."""
    plain = spec.with_values(request_level_params=None, requested_destination=None)
    if spec.kind is not None:
        pools = [get_kind(spec.kind).trait]
        plain.request_level_params = RequestLevelParams.from_values(root_required=pools)
    try:
        queries = resource_query.build_both(plain, limit=0)
    except (exception.RequestFilterFailed, exception.InvalidResourceQuery):
        return Needs(spec, ())
    return Needs(spec, tuple(query for query in queries if query is not None))


class Pruner:
    """Compares needs with capabilities. Sound: a pruned zone has no host that would pass.

    ``filters`` are those of this zone; each is applied only to zones that also run it.
    """

    def __init__(self, filters: Sequence[BaseHostFilter]) -> None:
        self._filters = [
            each for each in filters if type(each).zone_lacks is not BaseHostFilter.zone_lacks
        ]

    def why_not(self, capabilities: Capabilities, needs: Needs, profile: str) -> str | None:
        """Return why no zone of a sub-tree can serve the request; None if one may."""
        if not capabilities.hosts and needs.spec.kind is None:
            return "it has no host that is up and enabled"
        if profile not in capabilities.profiles:
            return f"no zone there uses the weighing profile {profile!r}"
        for each in self._filters:
            if type(each).__name__ in capabilities.filters:
                lack: str | None = plugin_calls.ask(
                    each, each.zone_lacks, capabilities.attributes, needs.spec
                )
                if lack is not None:
                    return lack
        if needs.spec.kind is not None:  # a pool that has room again is not reported immediately
            capabilities = dataclasses.replace(capabilities, resources=None)
        lacks = [next(_lacks(capabilities, query), None) for query in needs.queries]
        return None if not lacks or None in lacks else lacks[0]


def _lacks(capabilities: Capabilities, query: ResourceQuery) -> Iterator[str]:
    """Yield the requirements of a query that no provider of a zone can meet."""
    resources = capabilities.resources
    for group in query.groups:
        for name, amount in group.resources.items():
            if resources is not None and resources.get(name, 0) < amount:
                most = resources.get(name, 0)
                yield f"{name}: {amount:,} requested, at most {most:,} free on one provider"
    if capabilities.traits is None:
        return
    traits = set(capabilities.traits)
    wanted = [[trait] for trait in query.root_required]
    for any_of in (*wanted, *(some for group in query.groups for some in group.required_traits)):
        if traits.isdisjoint(any_of):
            yield f"no provider has the trait {' or '.join(any_of)}"
