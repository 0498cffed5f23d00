"""The filter scheduler: placement says who fits, filters say no, weighers which; then it claims.

Requests of one moment are decided together: those with equal specs on one board, one after the
other, after one question to placement. What others chose and have not claimed yet is shown on each
board, and claims of all are sent together.
"""

from __future__ import annotations

import functools
import logging
import random
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import ClassVar

import numpy as np
from oslo_config import cfg

from armillary import exception
from armillary.combining import KeyedCombiner
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext
from objects.allocation_candidates import AllocationCandidates
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler import (
    answers,
    filters,
    group_policies,
    nearest_misses,
    placements,
    rebuild_check,
    request_filters,
    same_request,
    weights,
)
from scheduler.answers import Requester
from scheduler.boards import Boards
from scheduler.candidates import get_candidates, questions
from scheduler.cell_usage import CellDemand
from scheduler.claim_rounds import ClaimRounds
from scheduler.claiming import Claiming
from scheduler.decision import Board, Decision, GivenUp
from scheduler.drivers.base import SchedulerDriver
from scheduler.filters import BaseHostFilter
from scheduler.fleet import Fleet
from scheduler.host_offer import HostOffer
from scheduler.host_table import HostTable
from scheduler.plugins import CannotDecide, PluginBroke
from scheduler.preselection import preselect
from scheduler.rows_by_id import NamedIds
from scheduler.scheduling_request import Outcome, SchedulingRequest
from scheduler.selections import Chooser, Wanted
from scheduler.side_by_side import side_by_side
from scheduler.tie_order import TieOrder
from scheduler.trace import TraceBuilder
from scheduler.tree_usage import TreeUsage, hosts_and_offers
from scheduler.unclaimed import Unclaimed, Watch, amounts_by_node
from scheduler.usage import Usage
from scheduler.weights import BaseHostWeigher

LOG = logging.getLogger(__name__)

_INSTANCES_MAX = 1_000
"""Of requests that are decided together."""

_BOARDS_MAX = 8
"""So many different requests of one message are decided at a time."""

_WAITING_MAX = 10_000
_SETTLE_SECONDS_MAX = 10.0


class FilterScheduler(SchedulerDriver):
    """Asks placement for candidates, filters and weighs them, claims the best for each instance.

    The request filters turn the request into one question to placement, for pinned CPUs into a
    second one; filters and weighers see the hosts of the answer. All instances of a request get
    their hosts, or none does. Requests of one moment are decided together, and see what the others
    chose. ``[filter_scheduler] host_subset_size`` and ``shuffle_best_same_weighed_hosts`` spread
    what several schedulers choose.
    """

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
        self._ties = TieOrder(dice)
        self._choosing = threading.Lock()
        self._unclaimed = Unclaimed()
        self._boards = Boards(
            conf,
            fleet,
            self._unclaimed,
            self._choosing,
            remember=self._remember,
            fail=self._fail,
            claims=self.uses_allocation_candidates,
        )
        self._claims = ClaimRounds(
            Claiming(placement, self._choosing, clock=clock),
            self._boards,
            self._unclaimed,
            fleet=fleet,
            placement=placement,
        )
        self._workers = WorkerPool(_BOARDS_MAX, "decisions", queue_size_max=_WAITING_MAX)
        self._combiner = KeyedCombiner[Sequence[Decision], None](
            self._decide_groups, weight_max=_INSTANCES_MAX, waiting_max=_WAITING_MAX
        )

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
        request = SchedulingRequest(
            context, request_spec, instance_uuids, fences, return_alternates, dry_run
        )
        (found,) = self.select_many([request])
        if isinstance(found, Exception):
            raise found
        return found

    def select_many(self, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
        decisions = self._decisions(requests)
        self._decide_and_claim(decisions)
        crowded = [index for index, each in enumerate(decisions) if _may_find_room(each)]
        if crowded:
            # What was in their way may not have been claimed after all.
            self._unclaimed.wait_until_settled(_SETTLE_SECONDS_MAX)
            again = self._decisions([decisions[index].for_second_look() for index in crowded])
            self._decide_and_claim(again)
            for index, decision in zip(crowded, again, strict=True):
                decisions[index] = decision
        zone: str = self._conf.default_availability_zone
        outcomes = [self._outcome(decision, zone) for decision in decisions]
        placements.log([each for each in decisions if each.is_placed])
        return outcomes

    def _decisions(self, requests: Iterable[SchedulingRequest]) -> list[Decision]:
        options, now = self._conf.scheduler, self._now()
        choices_max: int = options.trace_choices_max
        alternates_max: int = options.max_attempts - 1
        return [
            Decision(
                request=request,
                spec=request.request_spec,
                instances=list(map(Wanted, request.instance_uuids, request.fences)),
                trace=TraceBuilder(
                    request_id=request.context.request_id,
                    created_at=now,
                    clock=self._clock,
                    choices_max=choices_max,
                ),
                alternates_max=alternates_max if request.return_alternates else 0,
            )
            for request in requests
        ]

    # Deciding together ----------------------------------------------------------------------------

    def _decide_and_claim(self, decisions: Sequence[Decision]) -> None:
        shared: dict[object, list[Decision]] = {}
        keys: dict[int, Hashable] = {}  # requests that came together mostly have one spec
        for decision in decisions:
            spec = id(decision.spec)
            if spec not in keys:
                keys[spec] = same_request.rough_key(decision.spec)
            key = id(decision) if decision.is_dry_run else keys[spec]
            shared.setdefault(key, []).append(decision)
        works = [partial(self._decide_shared, key, some) for key, some in shared.items()]
        side_by_side(self._workers, works)
        if self.uses_allocation_candidates:
            self._claims.claim([each for each in decisions if each.board and not each.is_dry_run])
        for decision in decisions:
            self._boards.leave(decision)
            if decision.error is not None:
                self._claims.clean_up(decision)

    def _decide_shared(self, key: object, decisions: Sequence[Decision]) -> None:
        weight = sum(len(each.instances) for each in decisions)
        try:
            self._combiner.submit(key, decisions, weight)
        except exception.Unavailable as error:
            for each in decisions:
                each.error = error

    def _decide_groups(self, works: Sequence[Sequence[Decision]]) -> list[None]:
        decisions = [decision for work in works for decision in work]
        for alike in same_request.grouped(decisions, [each.spec for each in decisions]):
            for some in _apart(alike):
                self._decide_alike(some)
        return [None] * len(works)

    def _decide_alike(self, decisions: Sequence[Decision]) -> None:
        """Decide requests with equal specs on one board; what keeps one from that, keeps all."""
        first = decisions[0]
        try:
            first.spec = _own_spec(decisions)
            if first.spec.is_rebuild_check:
                for decision in decisions:
                    self._check_rebuild(decision, first.spec)
                return
            group_policies.check(first.spec, self._plugin_names)
            watch = self._unclaimed.begin()
            try:
                board = self._board(first, watch)
            except BaseException:
                self._unclaimed.end(watch)
                raise
            with self._choosing:
                self._boards.decide_on(board, decisions)
        except GivenUp as reason:
            for decision in decisions:
                self._fail(decision, reason, like=first)
        except CannotDecide as error:
            for decision in decisions:
                self._fail(decision, GivenUp(reason=f"{error}."), like=first)
        except PluginBroke as error:
            LOG.exception("%s: a plugin broke", first.context.request_id)
            for decision in decisions:
                self._fail(decision, GivenUp(reason=f"{error}."), like=first)
        except Exception as error:
            for decision in decisions:
                decision.error = decision.error or error

    def _check_rebuild(self, decision: Decision, spec: RequestSpec) -> None:
        try:
            decision.found = rebuild_check.check(
                self._fleet.view_all(),
                self._filters,
                spec,
                decision.request.instance_uuids,
                trace=decision.trace,
                default_zone=self._conf.default_availability_zone,
            )
        except exception.NoValidHost as error:
            decision.error = error

    # The stages -----------------------------------------------------------------------------------

    def _board(self, decision: Decision, watch: Watch) -> Board:
        hosts, request = self._hosts_for(decision, watch)
        with decision.trace.stage("weigh"):
            return Board(self._chooser(decision, hosts), functools.cache(request), watch)

    def _hosts_for(self, decision: Decision, watch: Watch) -> tuple[HostTable, Requester]:
        """Return the hosts that pass everything; raise ``GivenUp`` when there is none."""
        candidates = self._ask_placement(decision)
        with self._choosing, decision.trace.stage("hosts"):
            hosts, request = self._offers(decision, candidates)
            hosts = self._without_promised(decision, hosts, watch)
        hosts = self._filter(decision, hosts)
        if len(hosts) == 0:
            raise GivenUp
        return hosts, request

    def _ask_placement(self, decision: Decision) -> AllocationCandidates | None:
        """Return the candidates; None for a driver that asks nobody."""
        trace, spec = decision.trace, decision.spec
        try:
            with trace.stage("request_filters"):
                request_filters.apply_all(self._request_filters, spec, self._fleet.facts)
            with trace.stage("candidates"):
                candidates = get_candidates(
                    self._conf, self._placement, decision.context, spec, self._fleet
                )
        except (exception.RequestFilterFailed, exception.InvalidResourceQuery) as error:
            trace.refused_by_request_filter(error.message)
            raise GivenUp(reason=error.message) from error
        trace.answered(candidates)
        if decision.is_dry_run and not trace.has_candidates:
            query = questions(self._conf, spec, self._fleet).first
            trace.missed(nearest_misses.find(self._placement, decision.context, query))
        return candidates

    def _offers(
        self, decision: Decision, candidates: AllocationCandidates | None
    ) -> tuple[HostTable, Requester]:
        """Return the hosts to choose among, and what claims the candidates that they stand for."""
        assert candidates is not None
        if candidates.is_plain:
            hosts, found = self._fleet.view(
                candidates.provider_uuids, _named_ids(candidates), self._ties
            )
            usage = Usage.of_candidates(candidates, found)
        else:
            offers = hosts_and_offers(candidates)
            hosts, found = self._fleet.view(list(offers), order=self._ties)
            known = list(offers.values())
            usage = TreeUsage(candidates, [known[index] for index in found.tolist()])
        decision.trace.known(len(hosts))
        demand = CellDemand.of(decision.spec, self._conf)
        return hosts.with_usage(usage, demand), candidates.requester()

    def _without_promised(self, decision: Decision, hosts: HostTable, watch: Watch) -> HostTable:
        """Show what others chose and have not claimed yet; leave out the hosts that it fills."""
        promised = amounts_by_node(self._unclaimed.all_for(watch))
        positions = hosts.positions_of(self._fleet.rows_of(promised))
        if not positions or hosts.has_several_candidates:
            return hosts
        for uuid, position in positions.items():
            hosts.promise(position, promised[uuid])
        kept = np.flatnonzero(hosts.fit_mask())
        removed = len(hosts) - len(kept)
        if not removed:
            return hosts
        decision.is_crowded = True
        reason = "promised to other requests a moment ago"
        decision.trace.filtered("promised", len(hosts), removed, [(reason, removed)])
        return hosts.take(kept)

    def _filter(self, decision: Decision, hosts: HostTable) -> HostTable:
        spec, report = decision.spec, decision.trace.filtered
        with decision.trace.stage("filters"):
            hosts = preselect(hosts, spec, report)
            spec.instance_uuid = decision.instances[0].instance_uuid
            return hosts if spec.is_forced else self._filters.run(hosts, spec, report)

    def _chooser(self, decision: Decision, hosts: HostTable) -> Chooser:
        conf = self._conf.filter_scheduler
        return Chooser(
            hosts,
            decision.spec,
            repeated=() if decision.spec.is_forced else self._filters.repeated,
            weighers=self._weighers,
            subset_size=conf.host_subset_size,
            shuffle_ties=conf.shuffle_best_same_weighed_hosts,
            dice=self._dice,
            explained_max=self._conf.scheduler.trace_explained_hosts_max,
        )

    def _remember(self, decisions: Sequence[Decision], hosts: HostTable) -> None:
        """Let decisions to come see what was placed, until a push shows it."""
        claims = (
            (hosts.value("uuid", wanted.position), wanted.instance_uuid)
            for decision in decisions
            for wanted in decision.instances
        )
        self._fleet.remember(claims, CellDemand.of(decisions[0].spec, self._conf))

    # For other zones ------------------------------------------------------------------------------

    @property
    def plugin_filters(self) -> Sequence[BaseHostFilter]:
        """The filters that are enabled, in their order."""
        return self._filters.filters

    @property
    def plugin_weighers(self) -> Sequence[BaseHostWeigher]:
        """The weighers that are enabled."""
        return self._weighers

    def offer(self, request: SchedulingRequest) -> HostOffer:
        """Return the hosts that one instance of a request could go to now; nothing is claimed.

        Raises ``NoValidHost`` when there is none, and what a decision raises.
        """
        (decision,) = self._decisions([request])
        decision.trace.is_decision = False
        watch = None
        try:
            decision.spec = _own_spec([decision])
            group_policies.check(decision.spec, self._plugin_names)
            watch = self._unclaimed.begin()
            hosts = self._hosts_for(decision, watch)[0]
            with decision.trace.stage("weigh"):
                weighed = weights.raw_weights(self._weighers, hosts, decision.spec)
            uuids: list[str] = hosts.column("uuid")  # type: ignore[assignment]  # a list
            return HostOffer(uuids, weighed, decision.trace.finished())
        except GivenUp as reason:
            raise self._fail(decision, reason) from None
        except PluginBroke as error:
            if not isinstance(error, CannotDecide):
                LOG.exception("%s: a plugin broke", request.context.request_id)
            raise self._fail(decision, GivenUp(reason=f"{error}.")) from error
        finally:
            if watch is not None:
                self._unclaimed.end(watch)

    # Outcomes -------------------------------------------------------------------------------------

    def _fail(
        self, decision: Decision, reason: GivenUp, *, like: Decision | None = None
    ) -> exception.NoValidHost:
        """Say why a request has no host; ``like`` is the one that it was decided together with."""
        if like is not None and like is not decision:
            decision.trace.adopt(like.trace)
            decision.is_crowded = like.is_crowded
        trace = decision.trace.failed(
            placed=reason.placed,
            wanted=len(decision.instances),
            aggregate_names={each.uuid: each.name for each in self._fleet.facts.aggregates},
            reason=reason.reason,
        )
        LOG.info("%s: no valid host: %s", decision.instances[0].instance_uuid, trace.sentence)
        decision.error = error = answers.no_valid_host(trace)
        return error

    def _outcome(self, decision: Decision, default_zone: str) -> Outcome:
        if decision.error is not None:
            return decision.error
        if decision.found is not None:
            return decision.found
        try:
            return self._destinations(decision, default_zone)
        except PluginBroke as error:  # it has chosen, and cannot say within which limits
            LOG.exception("%s: a plugin broke", decision.context.request_id)
            failure = self._fail(decision, GivenUp(reason=f"{error}."))
            self._claims.clean_up(decision)
            return failure

    def _destinations(self, decision: Decision, default_zone: str) -> Destinations:
        assert decision.board is not None
        hosts = decision.board.chooser.hosts
        return answers.destinations(
            hosts,
            decision.offers,
            request=decision.board.request,
            limits_of=lambda position: self._filters.limits_of(hosts[position], decision.spec),
            default_zone=default_zone,
            trace=decision.trace.finished(),
            known=decision.board.selections,
        )


def _apart(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Return lists in each of which no instance comes twice.

    A board knows one place for an instance. A request that was delivered again needs one of its
    own: placement tells then whether both decisions agree.
    """
    lists: list[tuple[set[str], list[Decision]]] = []
    for decision in decisions:
        instances = set(decision.request.instance_uuids)
        for known, some in lists:
            if known.isdisjoint(instances):
                known |= instances
                some.append(decision)
                break
        else:
            lists.append((instances, [decision]))
    return [some for _, some in lists]


def _own_spec(decisions: Sequence[Decision]) -> RequestSpec:
    """Return a copy to work on, whose server group has the requests' instances as members."""
    first, *others = decisions
    spec: RequestSpec = first.request.request_spec.obj_clone()
    spec.obj_set_defaults_quietly()
    same_request.merge_groups(
        spec,
        [each.request.request_spec for each in others],
        [uuid for each in decisions for uuid in each.request.instance_uuids],
    )
    return spec


def _named_ids(candidates: AllocationCandidates) -> NamedIds | None:
    if candidates.provider_ids is None or candidates.meaning_of_ids is None:
        return None
    return NamedIds(candidates.provider_ids, candidates.meaning_of_ids)


def _may_find_room(decision: Decision) -> bool:
    return decision.is_crowded and isinstance(decision.error, exception.NoValidHost)
