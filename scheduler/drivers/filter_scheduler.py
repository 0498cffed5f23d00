"""The filter scheduler: query placement, filter and weigh the candidates, then claim.

Concurrent requests are decided together. Requests with equal specs share one batch and one
placement query, and are decided in order. Each batch accounts for selections of other batches that
are not claimed yet, and the claims of all batches are sent together.
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
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext
from armillary.group_commit import KeyedGroupCommit
from objects.allocation_candidates import AllocationCandidates
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler import filters, request_filters, weights
from scheduler.drivers.base import SchedulerDriver
from scheduler.explain import nearest_misses
from scheduler.explain.trace import TraceBuilder
from scheduler.filters import BaseHostFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_store import HostStore
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.numa_usage import CellDemand
from scheduler.hosts.preselection import preselect
from scheduler.hosts.rows_by_id import NamedIds
from scheduler.hosts.tree_usage import TreeUsage, hosts_and_offers
from scheduler.hosts.usage import Usage
from scheduler.plugins.loading import CannotDecide, PluginFailed
from scheduler.request import equal_requests
from scheduler.request.candidates import get_candidates, questions
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from scheduler.selection import group_policies, placement_log, rebuild_check, responses
from scheduler.selection.assumed_placements import (
    AssumedPlacements,
    AssumedPlacementsView,
    amounts_by_node,
)
from scheduler.selection.claim_batcher import ClaimBatcher
from scheduler.selection.claim_loop import ClaimLoop
from scheduler.selection.decision import Decision, DecisionBatch, GivenUp
from scheduler.selection.decision_batch import BatchDecider
from scheduler.selection.host_offer import HostOffer
from scheduler.selection.host_selector import HostSelector, Slot
from scheduler.selection.responses import Requester
from scheduler.selection.run_concurrently import run_concurrently
from scheduler.selection.tie_order import TieOrder
from scheduler.weights import BaseHostWeigher

LOG = logging.getLogger(__name__)

_INSTANCES_MAX = 1_000
"""Maximum number of instances in requests that are decided together."""

_BATCHES_MAX = 8
"""Maximum number of distinct requests of one message that are decided concurrently."""

_WAITING_MAX = 10_000
_SETTLE_SECONDS_MAX = 10.0


class FilterScheduler(SchedulerDriver):
    """Queries placement for candidates, filters and weighs them, and claims the best hosts.

    The request filters and the request make up one placement query, or two for pinned CPUs; filters
    and weighers see the hosts of the response. Either all instances of a request get hosts, or none
    does. Concurrent requests are decided together and account for each other's selections.
    ``[filter_scheduler] host_subset_size`` and ``shuffle_best_same_weighed_hosts`` reduce
    collisions between several schedulers.
    """

    uses_allocation_candidates: ClassVar[bool] = True

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        fleet: HostStore,
        placement: PlacementAPI,
        rng: random.Random,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(conf, fleet=fleet, placement=placement, rng=rng, clock=clock, now=now)
        self._request_filters = request_filters.load_request_filters(conf)
        self._filters = filters.load_filters(conf)
        self._weighers = weights.load_weighers(conf)
        self._plugin_names = {*self._filters.names, *(type(w).__name__ for w in self._weighers)}
        self._ties = TieOrder(rng)
        self._selection_lock = threading.Lock()
        self._unclaimed = AssumedPlacements()
        self._batches = BatchDecider(
            conf,
            fleet,
            self._unclaimed,
            self._selection_lock,
            remember=self._remember,
            fail=self._fail,
            claims=self.uses_allocation_candidates,
        )
        self._claims = ClaimLoop(
            ClaimBatcher(placement, self._selection_lock, clock=clock),
            self._batches,
            self._unclaimed,
            fleet=fleet,
            placement=placement,
        )
        self._workers = WorkerPool(_BATCHES_MAX, "decisions", queue_size_max=_WAITING_MAX)
        self._combiner = KeyedGroupCommit[Sequence[Decision], None](
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
            # The selections that blocked them may have failed to be claimed: retry once settled.
            self._unclaimed.wait_until_settled(_SETTLE_SECONDS_MAX)
            again = self._decisions([decisions[index].for_retry() for index in crowded])
            self._decide_and_claim(again)
            for index, decision in zip(crowded, again, strict=True):
                decisions[index] = decision
        zone: str = self._conf.default_availability_zone
        outcomes = [self._outcome(decision, zone) for decision in decisions]
        placement_log.log([each for each in decisions if each.is_placed])
        return outcomes

    def _decisions(self, requests: Iterable[SchedulingRequest]) -> list[Decision]:
        options, now = self._conf.scheduler, self._now()
        choices_max: int = options.trace_choices_max
        alternates_max: int = options.max_attempts - 1
        return [
            Decision(
                request=request,
                spec=request.request_spec,
                instances=list(map(Slot, request.instance_uuids, request.fences)),
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

    # Joint decisions ------------------------------------------------------------------------------

    def _decide_and_claim(self, decisions: Sequence[Decision]) -> None:
        shared: dict[object, list[Decision]] = {}
        keys: dict[int, Hashable] = {}  # requests that arrive together mostly share one spec
        for decision in decisions:
            spec = id(decision.spec)
            if spec not in keys:
                keys[spec] = equal_requests.rough_key(decision.spec)
            key = id(decision) if decision.is_dry_run else keys[spec]
            shared.setdefault(key, []).append(decision)
        works = [partial(self._decide_shared, key, some) for key, some in shared.items()]
        run_concurrently(self._workers, works)
        if self.uses_allocation_candidates:
            self._claims.claim([each for each in decisions if each.batch and not each.is_dry_run])
        for decision in decisions:
            self._batches.leave(decision)
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
        for alike in equal_requests.grouped(decisions, [each.spec for each in decisions]):
            for some in _apart(alike):
                self._decide_alike(some)
        return [None] * len(works)

    def _decide_alike(self, decisions: Sequence[Decision]) -> None:
        """Decide requests with equal specs in one batch; an error fails all of them."""
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
                batch = self._make_batch(first, watch)
            except BaseException:
                self._unclaimed.end(watch)
                raise
            with self._selection_lock:
                self._batches.decide_on(batch, decisions)
        except GivenUp as reason:
            for decision in decisions:
                self._fail(decision, reason, like=first)
        except CannotDecide as error:
            for decision in decisions:
                self._fail(decision, GivenUp(reason=f"{error}."), like=first)
        except PluginFailed as error:
            LOG.exception("%s: a plugin failed", first.context.request_id)
            for decision in decisions:
                self._fail(decision, GivenUp(reason=f"{error}."), like=first)
        except Exception as error:
            for decision in decisions:
                decision.error = decision.error or error

    def _check_rebuild(self, decision: Decision, spec: RequestSpec) -> None:
        try:
            decision.found = rebuild_check.check(
                self._host_store.view_all(),
                self._filters,
                spec,
                decision.request.instance_uuids,
                trace=decision.trace,
                default_zone=self._conf.default_availability_zone,
            )
        except exception.NoValidHost as error:
            decision.error = error

    # The stages -----------------------------------------------------------------------------------

    def _make_batch(self, decision: Decision, watch: AssumedPlacementsView) -> DecisionBatch:
        ledger, request = self._hosts_for(decision, watch)
        with decision.trace.stage("weigh"):
            return DecisionBatch(self._selector(decision, ledger), functools.cache(request), watch)

    def _hosts_for(
        self, decision: Decision, watch: AssumedPlacementsView
    ) -> tuple[HostLedger, Requester]:
        """Return the hosts that pass all filters; raise ``GivenUp`` if there is none."""
        candidates = self._ask_placement(decision)
        with self._selection_lock, decision.trace.stage("hosts"):
            ledger, request = self._offers(decision, candidates)
            ledger = self._without_assumed(decision, ledger, watch)
        ledger = self._filter(decision, ledger)
        if len(ledger) == 0:
            raise GivenUp
        return ledger, request

    def _ask_placement(self, decision: Decision) -> AllocationCandidates | None:
        """Return the candidates; None for a driver that does not use placement."""
        trace, spec = decision.trace, decision.spec
        try:
            with trace.stage("request_filters"):
                request_filters.apply_all(self._request_filters, spec, self._host_store.facts)
            with trace.stage("candidates"):
                candidates = get_candidates(
                    self._conf, self._placement, decision.context, spec, self._host_store
                )
        except (exception.RequestFilterFailed, exception.InvalidResourceQuery) as error:
            trace.refused_by_request_filter(error.message)
            raise GivenUp(reason=error.message) from error
        trace.answered(candidates)
        if decision.is_dry_run and not trace.has_candidates:
            query = questions(self._conf, spec, self._host_store).first
            trace.missed(nearest_misses.find(self._placement, decision.context, query))
        return candidates

    def _offers(
        self, decision: Decision, candidates: AllocationCandidates | None
    ) -> tuple[HostLedger, Requester]:
        """Return the candidate hosts, and a function that maps them to allocation requests."""
        assert candidates is not None
        if candidates.is_flat:
            hosts, found = self._host_store.view(
                candidates.provider_uuids, _named_ids(candidates), self._ties
            )
            usage = Usage.of_candidates(candidates, found)
        else:
            offers = hosts_and_offers(candidates)
            hosts, found = self._host_store.view(list(offers), order=self._ties)
            known = list(offers.values())
            usage = TreeUsage(candidates, [known[index] for index in found.tolist()])
        decision.trace.known(len(hosts))
        demand = CellDemand.of(decision.spec, self._conf)
        return HostLedger.begin(hosts, usage, demand), candidates.request_builder()

    def _without_assumed(
        self, decision: Decision, ledger: HostLedger, watch: AssumedPlacementsView
    ) -> HostLedger:
        """Apply other decisions' unclaimed selections; exclude the hosts that they fill."""
        promised = amounts_by_node(self._unclaimed.all_for(watch))
        positions = ledger.hosts.positions_of(self._host_store.rows_of(promised))
        if not positions or ledger.has_several_candidates:
            return ledger
        for uuid, position in positions.items():
            ledger.assume_used(position, promised[uuid])
        kept = np.flatnonzero(ledger.fit_mask())
        removed = len(ledger) - len(kept)
        if not removed:
            return ledger
        decision.is_blocked_by_others = True
        reason = "reserved by other requests that are not claimed yet"
        decision.trace.filtered("promised", len(ledger), removed, [(reason, removed)])
        return ledger.take(kept)

    def _filter(self, decision: Decision, ledger: HostLedger) -> HostLedger:
        spec, report = decision.spec, decision.trace.filtered
        with decision.trace.stage("filters"):
            ledger = preselect(ledger, spec, report)
            spec.instance_uuid = decision.instances[0].instance_uuid
            return ledger if spec.is_forced else self._filters.run(ledger, spec, report)

    def _selector(self, decision: Decision, ledger: HostLedger) -> HostSelector:
        conf = self._conf.filter_scheduler
        return HostSelector(
            ledger,
            decision.spec,
            repeated=() if decision.spec.is_forced else self._filters.repeated,
            weighers=self._weighers,
            subset_size=conf.host_subset_size,
            shuffle_ties=conf.shuffle_best_same_weighed_hosts,
            rng=self._rng,
            explained_max=self._conf.scheduler.trace_explained_hosts_max,
        )

    def _remember(self, decisions: Sequence[Decision], hosts: HostTable) -> None:
        """Count the placed instances in later decisions, until the host's next report."""
        claims = (
            (hosts.value("uuid", wanted.position), wanted.instance_uuid)
            for decision in decisions
            for wanted in decision.instances
        )
        self._host_store.remember(claims, CellDemand.of(decisions[0].spec, self._conf))

    # Queries from other zones ---------------------------------------------------------------------

    @property
    def plugin_filters(self) -> Sequence[BaseHostFilter]:
        """The enabled filters in order."""
        return self._filters.filters

    @property
    def plugin_weighers(self) -> Sequence[BaseHostWeigher]:
        """The enabled weighers."""
        return self._weighers

    def offer(self, request: SchedulingRequest) -> HostOffer:
        """Return the hosts that can take one instance of a request now; claim nothing.

        Raises ``NoValidHost`` if there is none, and otherwise as a decision does.
        """
        (decision,) = self._decisions([request])
        decision.trace.is_decision = False
        watch = None
        try:
            decision.spec = _own_spec([decision])
            group_policies.check(decision.spec, self._plugin_names)
            watch = self._unclaimed.begin()
            hosts = self._hosts_for(decision, watch)[0].hosts
            with decision.trace.stage("weigh"):
                weighed = weights.raw_weights(self._weighers, hosts, decision.spec)
            uuids: list[str] = hosts.column("uuid")  # type: ignore[assignment]  # a list
            return HostOffer(uuids, weighed, decision.trace.finished())
        except GivenUp as reason:
            raise self._fail(decision, reason) from None
        except PluginFailed as error:
            if not isinstance(error, CannotDecide):
                LOG.exception("%s: a plugin failed", request.context.request_id)
            raise self._fail(decision, GivenUp(reason=f"{error}.")) from error
        finally:
            if watch is not None:
                self._unclaimed.end(watch)

    # Outcomes -------------------------------------------------------------------------------------

    def _fail(
        self, decision: Decision, reason: GivenUp, *, like: Decision | None = None
    ) -> exception.NoValidHost:
        """Record why a request has no host; ``like`` is the decision whose trace it shares."""
        if like is not None and like is not decision:
            decision.trace.adopt(like.trace)
            decision.is_blocked_by_others = like.is_blocked_by_others
        trace = decision.trace.failed(
            placed=reason.placed,
            wanted=len(decision.instances),
            aggregate_names={each.uuid: each.name for each in self._host_store.facts.aggregates},
            reason=reason.reason,
        )
        LOG.info("%s: no valid host: %s", decision.instances[0].instance_uuid, trace.sentence)
        decision.error = error = responses.no_valid_host(trace)
        return error

    def _outcome(self, decision: Decision, default_zone: str) -> Outcome:
        if decision.error is not None:
            return decision.error
        if decision.found is not None:
            return decision.found
        try:
            return self._destinations(decision, default_zone)
        except PluginFailed as error:  # a filter failed to return limits for the selected host
            LOG.exception("%s: a plugin failed", decision.context.request_id)
            failure = self._fail(decision, GivenUp(reason=f"{error}."))
            self._claims.clean_up(decision)
            return failure

    def _destinations(self, decision: Decision, default_zone: str) -> Destinations:
        assert decision.batch is not None
        hosts = decision.batch.selector.hosts
        return responses.destinations(
            hosts,
            decision.offers,
            request=decision.batch.request,
            limits_of=lambda position: self._filters.limits_of(hosts[position], decision.spec),
            default_zone=default_zone,
            trace=decision.trace.finished(),
            known=decision.batch.selections,
        )


def _apart(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Return lists in which no instance occurs twice.

    A batch has one slot per instance. A redelivered request needs a batch of its own: placement
    then shows whether both decisions agree.
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
    """Return a copy of the spec, with the requests' instances added to its server group."""
    first, *others = decisions
    spec: RequestSpec = first.request.request_spec.obj_clone()
    spec.obj_set_defaults_quietly()
    equal_requests.merge_groups(
        spec,
        [each.request.request_spec for each in others],
        [uuid for each in decisions for uuid in each.request.instance_uuids],
    )
    return spec


def _named_ids(candidates: AllocationCandidates) -> NamedIds | None:
    if candidates.provider_ids is None or candidates.id_mapping is None:
        return None
    return NamedIds(candidates.provider_ids, candidates.id_mapping)


def _may_find_room(decision: Decision) -> bool:
    return decision.is_blocked_by_others and isinstance(decision.error, exception.NoValidHost)
