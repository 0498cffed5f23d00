"""The filter scheduler: request, hosts, filters, weights, selection, claim, answer, in this order.

Concurrent requests are decided together. Requests with equal specs share one batch and one
placement query, and are decided in order. Each batch accounts for selections of other batches that
are not claimed yet, and the claims of all batches are sent together.
"""

import contextlib
import logging
import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from armillary import exception
from armillary.context import RequestContext
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.destinations import Destinations
from objects.instances.group_claim import GroupMember
from objects.request_spec import RequestSpec
from scheduler import filters, request_filters, weights
from scheduler.drivers.base import SchedulerDriver
from scheduler.explain import unread
from scheduler.explain.trace import TraceBuilder
from scheduler.filters import BaseHostFilter
from scheduler.hosts.candidate_hosts import ledger_for
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.numa.numa_usage import CellDemand
from scheduler.hosts.tie_order import TieOrder
from scheduler.hosts.usage import Derive, of_hosts
from scheduler.plugins.loading import CannotDecide, PluginFailed
from scheduler.request.candidates import get_candidates, nearest_misses
from scheduler.request.equal_requests import joint_spec
from scheduler.request.scheduling_request import HostOffer, Outcome, SchedulingRequest
from scheduler.selection import rebuild_check, responses
from scheduler.selection.assumed_placements import (
    AssumedPlacement,
    AssumedPlacements,
    AssumedPlacementsView,
)
from scheduler.selection.claim_batcher import ClaimBatcher
from scheduler.selection.decision import Decision, DecisionBatch, GivenUp, Slot
from scheduler.selection.group_view import GroupView, view_of
from scheduler.selection.host_selector import (
    CLAIM_ROUNDS_MAX,
    GROUP_ROUNDS_MAX,
    HostSelector,
    spread_of,
)
from scheduler.selection.joint_decisions import JointDecisions
from scheduler.weights import BaseHostWeigher
from scheduler.weights.ranking import raw_weights

LOG = logging.getLogger(__name__)

_SETTLE_SECONDS_MAX = 10.0

_NEEDED_BY_POLICY = {
    "affinity": "ServerGroupAffinityFilter",
    "anti-affinity": "ServerGroupAntiAffinityFilter",
    "soft-affinity": "ServerGroupSoftAffinityWeigher",
    "soft-anti-affinity": "ServerGroupSoftAntiAffinityWeigher",
    "spread": "TopologySpreadFilter",
    "soft-spread": "TopologySpreadWeigher",
}


class FilterScheduler(SchedulerDriver):
    """Queries placement for candidates, filters and weighs them, and claims the best hosts.

    The request filters and the request make up one placement query, or two for pinned CPUs; filters
    and weighers see the hosts of the response. Either all instances of a request get hosts, or none
    does. Concurrent requests are decided together and account for each other's selections.
    ``[filter_scheduler] host_subset_size`` and ``shuffle_best_same_weighed_hosts`` reduce
    collisions between several schedulers.
    """

    uses_allocation_candidates: ClassVar[bool] = True
    noun: str = "host"
    """What the candidates are, for people who read why."""

    def _load_plugins(self) -> None:
        """Load the filters and weighers; raise as ``loading.load``."""
        self._request_filters = request_filters.load_request_filters(self._conf)
        self._filters = filters.load_filters(self._conf)
        self._weighers: Sequence[BaseHostWeigher] = weights.load_weighers(self._conf)

    def _prepare(self) -> None:
        self._load_plugins()
        self._plugin_names = {*self._filters.names, *(type(w).__name__ for w in self._weighers)}
        self._seed: int | None = self._conf.scheduler.random_seed
        self._ties = TieOrder(self._rng, self._seed)
        self._lock = threading.Lock()  # selections in one batch are visible in the others
        self._assumed = AssumedPlacements()
        self._claims = ClaimBatcher(self._placement, self._lock, clock=self._clock)
        self._joint = JointDecisions(self._decide_equal)

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
        crowded = [
            index
            for index, each in enumerate(decisions)
            if each.is_blocked_by_others and isinstance(each.error, exception.NoValidHost)
        ]
        if crowded:
            # The selections that blocked them may have failed to be claimed: retry once settled.
            self._assumed.wait_until_settled(_SETTLE_SECONDS_MAX)
            again = self._decisions([decisions[index].for_retry() for index in crowded])
            self._decide_and_claim(again)
            for index, decision in zip(crowded, again, strict=True):
                decisions[index] = decision
        outcomes = [self._outcome(decision) for decision in decisions]
        responses.log_placements([each for each in decisions if each.is_placed])
        return outcomes

    def _decisions(self, requests: Iterable[SchedulingRequest]) -> list[Decision]:
        options, now = self._conf.scheduler, self._now()
        choices_max: int = options.trace_choices_max
        alternates_max: int = options.max_attempts - 1
        return [
            Decision(
                request=request,
                spec=request.request_spec,
                slots=list(map(Slot, request.instance_uuids, request.fences)),
                trace=TraceBuilder(
                    request_id=request.context.request_id,
                    created_at=now,
                    clock=self._clock,
                    choices_max=choices_max,
                    noun=self.noun,
                ),
                alternates_max=alternates_max if request.return_alternates else 0,
            )
            for request in requests
        ]

    def _decide_and_claim(self, decisions: Sequence[Decision]) -> None:
        self._joint.decide(decisions)  # calls _decide_equal
        if self.uses_allocation_candidates:
            self._claim([each for each in decisions if each.batch and not each.is_dry_run])
        for decision in decisions:
            self._leave(decision)
            if decision.error is not None:
                self._clean_up(decision)

    def _decide_equal(self, decisions: Sequence[Decision]) -> None:
        """Decide requests with equal specs; an error fails all of them, a rebuild check its own."""
        with self._failing(decisions):
            uuids = [uuid for each in decisions for uuid in each.request.instance_uuids]
            spec = joint_spec([each.request.request_spec for each in decisions], uuids)
            for decision in decisions:
                decision.spec = spec
            if not spec.is_rebuild_check:
                self._decide_alike(decisions)
                return
            for decision in decisions:
                with self._failing([decision]):
                    decision.found = rebuild_check.check(
                        decision,
                        self._host_store.view_all(),
                        self._filters,
                        default_zone=self._conf.default_availability_zone,
                    )

    def _decide_alike(self, decisions: Sequence[Decision]) -> None:
        """Select hosts for requests with equal specs in one batch: all stages up to the claim."""
        first = decisions[0]
        self._check_policy(first.spec)
        view = self._assumed.begin()
        try:
            own = [uuid for each in decisions for uuid in each.request.instance_uuids]
            group = self._view_group(first, own)
            ledger = self._find_hosts(first, view)
            ledger = self._filter(first, ledger)
            selector = self._weigh(first, ledger, group)
        except BaseException:
            self._assumed.end(view)
            raise
        batch = DecisionBatch(selector, view, decisions)
        for decision in decisions:
            decision.batch = batch
            if decision is not first:
                decision.share(first)
        with self._lock:
            self._select(batch, decisions)

    # Request --------------------------------------------------------------------------------------

    def _check_policy(self, spec: RequestSpec) -> None:
        """Raise ``UnsupportedPolicy`` if the server group's policy needs a missing plugin."""
        if spec.instance_group is None:
            return
        policy = spec.instance_group.policy
        needed = _NEEDED_BY_POLICY.get(policy)
        if needed is None:
            raise exception.UnsupportedPolicy(policy=policy, reason="unknown policy")
        if needed not in self._plugin_names:
            option = "enabled_filters" if needed.endswith("Filter") else "weight_classes"
            raise exception.UnsupportedPolicy(
                policy=policy,
                reason=f"{needed} is not enabled in the scheduler; the operator can add it to "
                f"[filter_scheduler] {option}",
            )

    def _view_group(self, decision: Decision, own: Sequence[str]) -> GroupView | None:
        """Return the view of the request's server group, with the members that placement has."""
        group = view_of(decision.spec, own)
        if group is not None and self.uses_allocation_candidates:
            self._host_store.add_instances(group.learn(self._members(decision, group)))
        return group

    def _members(self, decision: Decision, group: GroupView) -> list[GroupMember]:
        return self._placement.list_group_members(decision.context, group.uuid)

    # Hosts ----------------------------------------------------------------------------------------

    def _find_hosts(self, decision: Decision, view: AssumedPlacementsView) -> HostLedger:
        """Return the hosts that placement offers, less those that unclaimed selections fill."""
        trace = decision.trace
        candidates = self._ask_placement(decision)
        demand = CellDemand.of(decision.spec, self._conf)
        with self._lock, trace.stage("hosts"):
            promised = self._assumed.amounts_for(view)
            known = ledger_for(
                candidates, self._host_store, self._ties, demand, promised, self._derive_of
            )
            trace.known(len(known))
            if not promised or known.has_several_candidates:
                return known
            reason = "reserved by other requests that are not claimed yet"
            ledger = known.keep(known.fit_mask(), "promised", reason, trace.filtered)
            decision.is_blocked_by_others = len(ledger) < len(known)
            return ledger

    def _derive_of(self, resource_class: str) -> Derive | None:
        """Return what derives attributes from placement's figures of a class."""
        return of_hosts(resource_class)

    def _ask_placement(self, decision: Decision) -> AllocationCandidates:
        trace, spec, store = decision.trace, decision.spec, self._host_store
        if not spec.is_forced:
            trace.set_notes(unread.notes(spec, self._filters.names))
        try:
            with trace.stage("request_filters"):
                request_filters.apply_all(self._request_filters, spec, store.cluster_metadata)
            with trace.stage("candidates"):
                candidates = get_candidates(
                    self._conf, self._placement, decision.context, spec, store
                )
        except (exception.RequestFilterFailed, exception.InvalidResourceQuery) as error:
            trace.refused_by_request_filter(error.message)
            raise GivenUp(reason=error.message) from error
        trace.set_candidates(candidates, store.host_names)
        return candidates

    # Filters and weights --------------------------------------------------------------------------

    def _filter(self, decision: Decision, ledger: HostLedger) -> HostLedger:
        """Return the hosts that pass all filters; raise ``GivenUp`` if there is none."""
        decision.spec.instance_uuid = decision.slots[0].instance_uuid
        with decision.trace.stage("filters"):
            ledger = self._filters.run(ledger, decision.spec, decision.trace.filtered)
        if len(ledger) == 0:
            raise GivenUp
        return ledger

    def _weigh(
        self, decision: Decision, ledger: HostLedger, group: GroupView | None
    ) -> HostSelector:
        conf = self._conf.filter_scheduler
        with decision.trace.stage("weigh"):
            return HostSelector(
                ledger,
                decision.spec,
                group,
                repeated=self._filters.repeated_for(decision.spec),
                weighers=self._weighers,
                subset_size=conf.host_subset_size,
                shuffle_ties=conf.shuffle_best_same_weighed_hosts,
                rng=self._rng if self._seed is None else random.Random(self._seed),  # noqa: S311
                retry_rng=self._rng,  # with the seed, schedulers would meet on the next host again
                explained_max=self._conf.scheduler.trace_explained_hosts_max,
            )

    # Selection ------------------------------------------------------------------------------------

    def _select(
        self, batch: DecisionBatch, decisions: Sequence[Decision], *, spread: int = 1
    ) -> None:
        """Select hosts and alternates, and make the selections visible to other decisions.

        ``spread`` is among how many of the best hosts the selection is random. The caller holds the
        lock.
        """
        placements = batch.select(
            decisions,
            self._assumed.news(batch.view),
            self._host_store.rows_of,
            runners_up=self._conf.scheduler.trace_runners_up_max,
            spread=spread,
        )
        if placements:
            self._remember(decisions[0].spec, placements)
            if self.uses_allocation_candidates:
                self._assumed.add(placements)

    def _remember(self, spec: RequestSpec, placements: Sequence[AssumedPlacement]) -> None:
        """Count the placed instances in later decisions, until the host's next report."""
        claims = [(each.node_uuid, each.instance_uuid) for each in placements]
        self._host_store.remember(claims, CellDemand.of(spec, self._conf))

    # Claim ----------------------------------------------------------------------------------------

    def _claim(self, decisions: Sequence[Decision]) -> None:
        """Claim for all decisions, and select again for those whose claims are refused.

        From the second refusal for lack of room on, selections are randomised, because competing
        schedulers use the same ranking.
        """
        waiting = [each for each in decisions if each.error is None]
        for claim_round in range(GROUP_ROUNDS_MAX):
            if not waiting or all(each.rounds_refused >= CLAIM_ROUNDS_MAX for each in waiting):
                break
            if claim_round:
                self._select_again(waiting)
            selected = [each for each in waiting if each.error is None]
            try:
                if selected:
                    self._claims.claim(selected)
            finally:
                self._assumed.settle(slot.instance_uuid for each in waiting for slot in each.slots)
            waiting = [each for each in waiting if each.error is None and each.unclaimed_slots]
        for decision in waiting:
            decision.error = exception.Unavailable(
                reason=f"claims were refused {claim_round} times in a row because other "
                "requests claimed first"
            )

    def _select_again(self, decisions: Sequence[Decision]) -> None:
        """Select for decisions whose claims were refused."""
        by_batch: dict[DecisionBatch, list[Decision]] = defaultdict(list)
        for decision in decisions:
            assert decision.batch is not None
            by_batch[decision.batch].append(decision)
        for batch, some in by_batch.items():
            group = batch.selector.group
            with self._failing(some):
                members = self._members(some[0], group) if group and group.is_outdated else None
                with self._lock:
                    if members is not None:
                        batch.selector.learn(members)
                    refused = max(each.rounds_refused for each in some)
                    self._select(batch, some, spread=spread_of(refused))

    def _leave(self, decision: Decision) -> None:
        """Record that a decision is finished, successful or not."""
        if decision.batch is None:
            return
        with self._lock:
            decision.batch.users -= 1
            if not decision.batch.users:
                self._assumed.end(decision.batch.view)

    def _clean_up(self, decision: Decision) -> None:
        """Discard the selections of a failed request, and release its claims.

        Claims are kept if another process acts for the request, for example after a redelivery, or
        if it is unknown what was claimed. The caller then cleans up.
        """
        if decision.is_dry_run or decision.batch is None:
            return
        self._host_store.forget(decision.request.instance_uuids)
        is_known = isinstance(decision.error, exception.NoValidHost | exception.Unavailable)
        if is_known and decision.claimed:
            self._placement.release(decision.context, decision.claimed)

    # Answer ---------------------------------------------------------------------------------------

    def _outcome(self, decision: Decision) -> Outcome:
        if decision.error is None and decision.found is None:
            with self._failing([decision]):  # a filter may fail to return limits
                return self._destinations(decision)
            self._clean_up(decision)
        assert decision.error is not None or decision.found is not None
        return decision.error or decision.found  # type: ignore[return-value]  # one of them is set

    def _destinations(self, decision: Decision) -> Destinations:
        assert decision.batch is not None
        hosts = decision.batch.selector.hosts
        return responses.destinations(
            hosts,
            decision.offers,
            request=decision.batch.request,
            limits_of=self._filters.limits_for(decision.spec, hosts),
            default_zone=self._conf.default_availability_zone,
            trace=decision.trace.finished(),
            known=decision.batch.selections,
        )

    @contextlib.contextmanager
    def _failing(self, decisions: Sequence[Decision]) -> Iterator[None]:
        """Fail decisions for what the block raises. All share the trace of the first."""
        first = decisions[0]
        try:
            yield
        except GivenUp as reason:
            failure = reason
            if first.is_dry_run and reason.reason is None and not first.trace.has_candidates:
                self._find_nearest_misses(first)
        except PluginFailed as error:
            if not isinstance(error, CannotDecide):
                LOG.exception("%s: %s failed", first.context.request_id, error.plugin)
            failure = GivenUp(reason=f"{error.public}.")
        except Exception as error:
            for decision in decisions:
                decision.error = decision.error or error
            return
        else:
            return
        for decision in decisions:
            if decision is not first:
                decision.share(first)
            decision.fail(failure, self._host_store.cluster_metadata)

    def _find_nearest_misses(self, decision: Decision) -> None:
        """Ask placement which hosts nearly fit, because none does."""
        misses = nearest_misses(
            self._conf, self._placement, decision.context, decision.spec, self._host_store
        )
        decision.trace.set_nearest_misses(misses)

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
        with self._failing([decision]):
            decision.spec = joint_spec([request.request_spec], request.instance_uuids)
            self._check_policy(decision.spec)
            view = self._assumed.begin()
            try:
                self._view_group(decision, request.instance_uuids)
                ledger = self._filter(decision, self._find_hosts(decision, view))
                hosts = ledger.hosts
                with decision.trace.stage("weigh"):
                    weighed = raw_weights(self._weighers, hosts, decision.spec)
            finally:
                self._assumed.end(view)
            uuids: list[str] = hosts.column("uuid")  # type: ignore[assignment]  # a list
            return HostOffer(uuids, weighed, ledger.is_fallback, decision.trace.finished())
        assert decision.error is not None
        raise decision.error
