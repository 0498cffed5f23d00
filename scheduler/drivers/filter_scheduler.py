"""The filter scheduler: placement says who fits, filters say no, weighers which; then it claims."""

from __future__ import annotations

import dataclasses
import logging
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar, NoReturn

import numpy as np
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from objects.allocation import AllocationClaim, ClaimStatus
from objects.allocation_candidates import AllocationCandidates, AllocationRequest
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection
from placement.rpcapi import PlacementAPI
from scheduler import filters, request_filters, resource_query, weights
from scheduler.drivers.base import SchedulerDriver
from scheduler.fleet import Fleet
from scheduler.host_table import HostTable
from scheduler.plugins import PluginBroke
from scheduler.preselection import preselect
from scheduler.selections import (
    Chooser,
    NoHostLeft,
    Wanted,
    choose_and_claim,
    pick_alternates,
)
from scheduler.trace import TraceBuilder
from scheduler.tree_usage import TreeUsage, hosts_and_offers
from scheduler.usage import Usage

LOG = logging.getLogger(__name__)

Requester = Callable[[int], AllocationRequest]
"""From the index of a candidate to what claims it."""

# The plugin that a server group's policy stands or falls with.
NEEDED_BY_POLICY = {
    "affinity": "ServerGroupAffinityFilter",
    "anti-affinity": "ServerGroupAntiAffinityFilter",
    "soft-affinity": "ServerGroupSoftAffinityWeigher",
    "soft-anti-affinity": "ServerGroupSoftAntiAffinityWeigher",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Decision:
    """What one decision works with; ``spec`` is its own."""

    context: RequestContext
    spec: RequestSpec
    instances: list[Wanted]
    trace: TraceBuilder
    is_dry_run: bool


class FilterScheduler(SchedulerDriver):
    """Asks placement for candidates, filters and weighs them, claims the best for each instance."""

    uses_allocation_candidates: ClassVar[bool] = True

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
        self._request_filters = request_filters.load_request_filters(conf)
        self._filters = filters.load_filters(conf)
        self._weighers = weights.load_weighers(conf)
        self._plugin_names = {*self._filters.names, *(type(w).__name__ for w in self._weighers)}

    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool,
        dry_run: bool,
    ) -> Destinations:
        spec = _own_spec(request_spec, instance_uuids)
        self._check_policy(spec)
        decision = _Decision(
            context=context,
            spec=spec,
            instances=[
                Wanted(uuid, fence) for uuid, fence in zip(instance_uuids, fences, strict=True)
            ],
            trace=TraceBuilder(
                request_id=context.request_id,
                created_at=self._now(),
                clock=self._clock,
                choices_max=self._conf.scheduler.trace_choices_max,
            ),
            is_dry_run=dry_run,
        )
        try:
            return self._decide(decision, return_alternates)
        except PluginBroke as error:
            LOG.exception("%s: a plugin broke", context.request_id)
            self._give_up(decision, reason=f"{error}.")

    # The stages -----------------------------------------------------------------------------------

    def _decide(self, decision: _Decision, return_alternates: bool) -> Destinations:
        candidates = self._ask_placement(decision)
        hosts = self._known_hosts(decision, candidates)
        hosts = self._filter(decision, hosts)
        if len(hosts) == 0:
            self._give_up(decision)
        with decision.trace.stage("weigh"):
            chooser = self._chooser(decision, hosts)
        request = candidates.requester()
        self._choose_and_claim(decision, chooser, request)
        with decision.trace.stage("alternates"):
            alternates = pick_alternates(
                chooser,
                [wanted.position for wanted in decision.instances],
                self._conf.scheduler.max_attempts - 1 if return_alternates else 0,
            )
        if not decision.is_dry_run:
            self._fleet.remember(
                (chooser.hosts.value("uuid", wanted.position), wanted.instance_uuid)
                for wanted in decision.instances
            )
        return self._destinations(decision, chooser.hosts, request, alternates)

    def _ask_placement(self, decision: _Decision) -> AllocationCandidates:
        trace, spec = decision.trace, decision.spec
        try:
            with trace.stage("request_filters"):
                request_filters.apply_all(self._request_filters, spec, self._fleet.facts)
                query = resource_query.build(spec, limit=self._conf.scheduler.max_placement_results)
            with trace.stage("candidates"):
                candidates = self._placement.get_allocation_candidates(decision.context, query)
        except (exception.RequestFilterFailed, exception.InvalidResourceQuery) as error:
            trace.refused_by_request_filter(error.message)
            self._give_up(decision, reason=error.message)
        trace.answered(candidates)
        return candidates

    def _known_hosts(self, decision: _Decision, candidates: AllocationCandidates) -> HostTable:
        with decision.trace.stage("hosts"):
            if candidates.is_plain:
                hosts, found = self._fleet.view(candidates.provider_uuids)
                usage = Usage.of_candidates(candidates, found)
            else:
                offers = hosts_and_offers(candidates)
                hosts, found = self._fleet.view(list(offers))
                known = list(offers.values())
                usage = TreeUsage(candidates, [known[index] for index in found.tolist()])
            decision.trace.known(len(hosts))
            return hosts.with_usage(usage)

    def _filter(self, decision: _Decision, hosts: HostTable) -> HostTable:
        spec, report = decision.spec, decision.trace.filtered
        with decision.trace.stage("filters"):
            hosts = preselect(hosts, spec, report)
            spec.instance_uuid = decision.instances[0].instance_uuid
            return hosts if spec.is_forced else self._filters.run(hosts, spec, report)

    def _chooser(self, decision: _Decision, hosts: HostTable) -> Chooser:
        conf = self._conf.filter_scheduler
        return Chooser(
            hosts,
            decision.spec,
            repeated=() if decision.spec.is_forced else self._filters.repeated,
            weighers=self._weighers,
            subset_size=conf.host_subset_size,
            shuffle_ties=conf.shuffle_best_same_weighed_hosts,
            dice=self._dice,
        )

    def _choose_and_claim(self, decision: _Decision, chooser: Chooser, request: Requester) -> None:
        trace, runners_up = decision.trace, self._conf.scheduler.trace_runners_up_max

        def choose(wanted: Wanted, spread: int) -> bool:
            with trace.stage("choose"):
                choice = chooser.choose(wanted.instance_uuid, spread=spread, runners_up=runners_up)
                if choice is None:
                    return False
                trace.chosen(wanted.instance_uuid, chooser.hosts, choice)
                wanted.position = choice.chosen.position
                return True

        def claim(waiting: list[Wanted]) -> list[Wanted]:
            if decision.is_dry_run:
                return []
            with trace.stage("claim"):
                return self._claim(decision, chooser, request, waiting)

        try:
            choose_and_claim(decision.instances, choose=choose, claim=claim)
        except NoHostLeft as error:
            for entry in chooser.why_none():
                trace.filtered(*entry)
            self._give_up(decision, placed=error.placed)
        except exception.Unavailable:
            self._release(decision)
            raise

    def _claim(
        self,
        decision: _Decision,
        chooser: Chooser,
        request: Requester,
        waiting: list[Wanted],
    ) -> list[Wanted]:
        """Claim for all that wait, in one call; return those that were refused."""
        results = self._placement.claim(
            decision.context,
            [
                AllocationClaim.from_values(
                    consumer_uuid=wanted.instance_uuid,
                    project_id=decision.spec.project_id,
                    user_id=decision.spec.user_id,
                    allocations=request(chooser.hosts.candidate_of(wanted.instance_uuid)),
                    fence=wanted.fence,
                )
                for wanted in waiting
            ],
        )
        refused = []
        outranked = []
        for wanted, result in zip(waiting, results, strict=True):
            if result.is_claimed:
                wanted.is_claimed = True
            elif result.status in (ClaimStatus.CONFLICT, ClaimStatus.FENCED):
                outranked.append(result)
            else:
                host = chooser.hosts.value("host", wanted.position)
                LOG.info("%s: claim on %s refused: %s", wanted.instance_uuid, host, result.reason)
                decision.trace.refused(wanted.instance_uuid, host, result.reason)
                chooser.refuse(wanted.position, wanted.instance_uuid)
                refused.append(wanted)
        if outranked:
            # Somebody else acts for these instances: a delete, or another worker with this request.
            # Whoever that is releases by a higher fence; releasing here could take theirs away.
            raise exception.Conflict(
                reason=f"instance {outranked[0].consumer_uuid} is in other hands: "
                f"{outranked[0].reason or outranked[0].status}"
            )
        return refused

    # Outcomes -------------------------------------------------------------------------------------

    def _destinations(
        self,
        decision: _Decision,
        hosts: HostTable,
        request: Requester,
        alternates: list[list[int]],
    ) -> Destinations:
        selections: list[Selection] = []
        index_of: dict[tuple[int, int], int] = {}
        width = 1 + max(map(len, alternates))
        choices = np.full((len(decision.instances), width), -1, dtype=np.int64)
        zone = self._conf.default_availability_zone
        for row, (wanted, others) in enumerate(zip(decision.instances, alternates, strict=True)):
            chosen = (wanted.position, hosts.candidate_of(wanted.instance_uuid))
            next_best = ((position, hosts.candidate_at(position)) for position in others)
            for column, offer in enumerate((chosen, *next_best)):
                if offer not in index_of:
                    index_of[offer] = len(selections)
                    position, candidate = offer
                    selections.append(_selection(hosts, position, request(candidate), zone))
                choices[row, column] = index_of[offer]
            if not decision.is_dry_run:
                LOG.info(
                    "%s: goes to %s, %d alternates",
                    wanted.instance_uuid, hosts.value("host", wanted.position), len(others),
                )  # fmt: skip
        return Destinations.from_values(
            hosts=selections, choices=choices, trace=decision.trace.finished()
        )

    def _give_up(
        self, decision: _Decision, *, placed: int = 0, reason: str | None = None
    ) -> NoReturn:
        self._release(decision)
        trace = decision.trace.failed(
            placed=placed,
            wanted=len(decision.instances),
            aggregate_names={each.uuid: each.name for each in self._fleet.facts.aggregates},
            reason=reason,
        )
        LOG.info("%s: no valid host: %s", decision.instances[0].instance_uuid, trace.sentence)
        raise exception.NoValidHost(reason=trace.sentence, trace=trace.obj_to_primitive())

    def _release(self, decision: _Decision) -> None:
        claimed = {
            wanted.instance_uuid: wanted.fence for wanted in decision.instances if wanted.is_claimed
        }
        if claimed:
            self._placement.release(decision.context, claimed)

    def _check_policy(self, spec: RequestSpec) -> None:
        if spec.instance_group is None:
            return
        policy = spec.instance_group.policy
        needed = NEEDED_BY_POLICY.get(policy)
        if needed is None:
            raise exception.UnsupportedPolicy(policy=policy, reason="there is no such policy")
        if needed not in self._plugin_names:
            raise exception.UnsupportedPolicy(
                policy=policy, reason=f"{needed} is not enabled in the scheduler"
            )


def _own_spec(request_spec: RequestSpec, instance_uuids: Sequence[str]) -> RequestSpec:
    """Return a copy to work on, whose server group has the request's instances as members."""
    spec: RequestSpec = request_spec.obj_clone()
    spec.obj_set_defaults_quietly()
    if spec.instance_group is not None:
        members = spec.instance_group.members
        known = set(members)
        members.extend(uuid for uuid in instance_uuids if uuid not in known)
    return spec


def _selection(
    hosts: HostTable, position: int, allocation_request: AllocationRequest, default_zone: str
) -> Selection:
    host = hosts.value("host", position)
    return Selection.from_values(
        compute_node_uuid=hosts.value("uuid", position),
        service_host=host,
        nodename=hosts.value("nodename", position),
        cell_uuid=hosts.value("cell_uuid", position),
        allocation_request=allocation_request,
        availability_zone=hosts.facts.zone_of(host, default_zone),
    )
