"""A zone's part in a search: its own hosts, those of its children, and the best of all."""

from __future__ import annotations

import dataclasses
import logging
import random
import time
from collections.abc import Sequence
from typing import Any, Protocol

from oslo_config import cfg

from armillary import exception, measures
from armillary.context import RequestContext
from objects.decision_trace import DecisionTrace
from objects.instance_group import AFFINITY
from objects.request_spec import RequestSpec
from objects.zone_answer import ZoneAnswer
from objects.zone_query import ZoneQuery
from scheduler.filters import BaseHostFilter
from scheduler.host_offer import HostOffer
from scheduler.scheduling_request import SchedulingRequest
from scheduler.weights import BaseHostWeigher
from scheduler.zones.asking import Asking, ZoneLinks, told
from scheduler.zones.children import Child, Children, State
from scheduler.zones.joining import Offers, as_answer, joined
from scheduler.zones.pruning import Pruner, needs_of

LOG = logging.getLogger(__name__)

_SHARE_OF_TIME = 0.8
"""So much of the time that is left do children have for theirs."""

_ELSEWHERE = "members of its server group are in other zones"


class Decider(Protocol):
    """Who knows the hosts of this zone; a driver."""

    @property
    def plugin_filters(self) -> Sequence[BaseHostFilter]: ...

    @property
    def plugin_weighers(self) -> Sequence[BaseHostWeigher]: ...

    def offer(self, request: SchedulingRequest) -> HostOffer:
        """Return the hosts that could take an instance. Raises ``NoValidHost``."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Which children are to be asked, and what is told of the others."""

    to_ask: list[str]
    told: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """The best hosts of a sub-tree, what its zones say, and how the own hosts were found."""

    offers: Offers
    zones: list[dict[str, Any]]
    own_trace: DecisionTrace | None


class ZoneSearch:
    """Searches a zone and what is below it. Thread-safe; claims nothing."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        decider: Decider,
        children: Children,
        links: ZoneLinks,
        dice: random.Random,
    ) -> None:
        self._conf = conf
        self._decider = decider
        self._children = children
        self._asking = Asking(links, [type(each).__name__ for each in decider.plugin_weighers])
        self._pruner = Pruner(decider.plugin_filters)
        self._dice = dice

    @property
    def has_children(self) -> bool:
        """Whether there is any zone that could be asked."""
        return len(self._children) > 0

    def plan(self, spec: RequestSpec, visited: Sequence[str] = ()) -> Plan:
        """Compare a request with what each child can do."""
        needs = needs_of(spec)
        plan = Plan([], [])
        bound_to = bound_to_zones(spec)
        names = {path.partition("/")[0] for path in bound_to}
        for child in self._children.all():
            outcome, reason = self._hindrance(child, visited)
            if outcome is None and bound_to and child.name not in names:
                outcome, reason = "pruned", f"{_ELSEWHERE}: {', '.join(bound_to)}"
            elif outcome is None and child.summary is not None:
                profile = self._conf.zones.weighing_profile
                reason = self._pruner.why_not(child.summary.capabilities, needs, profile)
                if reason is None:
                    plan.to_ask.append(child.name)
                    continue
                outcome = "pruned"
                measures.zone_pruned()
            plan.told.append(told(child.name, outcome or "offline", reason=reason))
        return plan

    def origin_query(self, request: SchedulingRequest) -> ZoneQuery:
        """Return the question that a request comes to in the zone where it was made."""
        return ZoneQuery.from_values(
            request_id=request.context.request_id,
            visited=[],
            request_spec=request.request_spec,
            instance_uuids=list(request.instance_uuids),
            entries_max=self._limit(self._conf.zones.entries_max, request.instance_uuids),
            time_limit_seconds=self._conf.zones.select_timeout_seconds,
            profile=self._conf.zones.weighing_profile,
        )

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        """Answer a parent."""
        if self._conf.zones.name in query.visited:
            reason = f"the question came by {' > '.join(query.visited)}"
            return as_answer(Offers.none(), zones=[told(None, "cycle", reason=reason)])
        if query.profile != self._conf.zones.weighing_profile:
            reason = (
                f"it weighs by the profile {self._conf.zones.weighing_profile!r}, asked is "
                f"{query.profile!r}"
            )
            LOG.error("%s: a parent's question is answered with nothing: %s",
                      query.request_id, reason)  # fmt: skip
            return as_answer(Offers.none(), zones=[told(None, "failed", reason=reason)])
        plan = self.plan(query.request_spec, query.visited)
        found = self.search(context, query, plan)
        was_pruned = bool(plan.told) and not plan.to_ask and not len(found.offers)
        return as_answer(found.offers, zones=found.zones, was_pruned=was_pruned)

    def search(self, context: RequestContext, query: ZoneQuery, plan: Plan) -> Found:
        """Ask the children of the plan, and this zone's own hosts at the same time."""
        waiting = self._asking.begin(
            plan.to_ask, context, self._for_children(query), query.time_limit_seconds
        )
        own, own_told, own_trace = self._own(context, query)
        heard = waiting()
        zones = [own_told, *plan.told, *(zone for each in heard for zone in each.zones)]
        parts = [own, *(each.offers for each in heard)]
        limit = self._limit(
            min(query.entries_max, self._conf.zones.entries_max), query.instance_uuids
        )
        offers = joined(parts, self._decider.plugin_weighers, limit=limit, dice=self._dice)
        return Found(offers, zones, own_trace)

    def _own(
        self, context: RequestContext, query: ZoneQuery
    ) -> tuple[Offers, dict[str, Any], DecisionTrace | None]:
        """Return the own hosts, what is told of them, and the trace of that."""
        started = time.monotonic()
        request = SchedulingRequest(
            context, query.request_spec, query.instance_uuids, [0] * len(query.instance_uuids)
        )
        offers, trace, reason = Offers.none(), None, None
        if _belongs_elsewhere(query):
            reason = _ELSEWHERE
        else:
            try:
                offer = self._decider.offer(request)
                offers, trace = Offers.own(offer.node_uuids, offer.weights), offer.trace
            except exception.NoValidHost as error:
                trace = DecisionTrace.obj_from_primitive(error.kwargs["trace"])
                reason = trace.sentence
            except (exception.UnsupportedPolicy, exception.Invalid) as error:
                reason = error.message
            except exception.Unavailable as error:  # the children may have what is needed
                LOG.warning("%s: this zone's own hosts are left out: %s", query.request_id, error)
                reason = error.message
        seconds = time.monotonic() - started
        return offers, told(None, "own", hosts=len(offers), seconds=seconds, reason=reason), trace

    def _for_children(self, query: ZoneQuery) -> ZoneQuery:
        """Return the question as it goes down: with nothing that holds only here."""
        spec = query.request_spec.with_values(
            request_level_params=None, requested_destination=None, limits=None
        )
        if spec.instance_group is not None:
            spec.instance_group = spec.instance_group.with_values(hosts=[], zone_paths=[])
        return query.with_values(
            request_spec=spec,
            visited=[*query.visited, self._conf.zones.name],
            time_limit_seconds=query.time_limit_seconds * _SHARE_OF_TIME,
        )

    def _hindrance(self, child: Child, visited: Sequence[str]) -> tuple[str | None, str | None]:
        """Say why a child is not to be asked whatever the request; nothing for one that may be."""
        state = self._children.state_of(child)
        if child.name in visited or child.name == self._conf.zones.name:
            return "cycle", "the question has been there"
        if state is State.DISABLED:
            return "disabled", "it is disabled here"
        if state is State.STALE:
            return "stale", f"it was last heard of at {child.last_seen}"
        if state is State.OFFLINE:
            return "offline", "it has not been heard of for long, or ever"
        return None, None

    @staticmethod
    def _limit(entries_max: int, instance_uuids: Sequence[str]) -> int:
        return max(entries_max, len(instance_uuids))


def bound_to_zones(spec: RequestSpec) -> list[str]:
    """Return the ways to the zones where a request has to go, beside servers of its group.

    Nothing for one that may go anywhere, that has to go to hosts of this zone, or that came from
    another one: of members elsewhere only the origin knows where they are.
    """
    group = spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return []
    return sorted(group.zone_paths)


def _belongs_elsewhere(query: ZoneQuery) -> bool:
    """Tell whether a request has to go beside servers of its group, none of which is here.

    At the origin, members that no zone has are still waiting for a host: that may be one here.
    """
    group = query.request_spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return False
    if not query.visited:
        return bool(group.zone_paths)
    return bool(set(group.members).difference(query.instance_uuids))
