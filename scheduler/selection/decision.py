"""Decisions in progress: the state and result of each request, and batches of equal requests."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from armillary import exception
from armillary.context import RequestContext, log_context
from objects.allocations.fence import Fence
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.explain.trace import TraceBuilder
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.usage import RequestBuilder
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.selection.assumed_placements import AssumedPlacement, AssumedPlacementsView
from scheduler.selection.host_selector import HostSelector, pick_alternates

LOG = logging.getLogger(__name__)

_HOSTS_LOGGED_MAX = 20

Offer = tuple[int, int]
"""Position of a host, and index of the candidate chosen on it."""


@dataclasses.dataclass(slots=True)
class Slot:
    """One instance that needs a host."""

    instance_uuid: str
    fence: int
    position: int = -1
    is_claimed: bool = False


@dataclasses.dataclass(eq=False, slots=True)
class Decision:
    """The state and result of one request. Used by one thread at a time.

    ``spec`` is the request's own until it joins a batch, then the spec of the batch.
    ``is_blocked_by_others`` is whether unclaimed selections of other requests, which may still
    fail, blocked hosts for it. ``rounds_refused`` counts the rounds in which claims were
    refused for lack of room.
    """

    request: SchedulingRequest
    spec: RequestSpec
    slots: list[Slot]
    trace: TraceBuilder
    alternates_max: int
    batch: DecisionBatch | None = None
    offers: list[list[Offer]] = dataclasses.field(default_factory=list)
    found: Destinations | None = None
    error: Exception | None = None
    is_blocked_by_others: bool = False
    rounds_refused: int = 0

    @property
    def context(self) -> RequestContext:
        return self.request.context

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    @property
    def is_placed(self) -> bool:
        """Whether it has hosts and is not a dry run."""
        return self.error is None and self.batch is not None and not self.is_dry_run

    @property
    def unclaimed_slots(self) -> list[Slot]:
        """Slots that still need a claim."""
        return [slot for slot in self.slots if not slot.is_claimed]

    @property
    def claimed(self) -> dict[str, int]:
        """Instances claimed by this decision, with their fences."""
        return {slot.instance_uuid: slot.fence for slot in self.slots if slot.is_claimed}

    def share(self, other: Decision) -> None:
        """Take over the trace of another decision, which found the hosts for both."""
        self.trace.adopt(other.trace)
        self.is_blocked_by_others = other.is_blocked_by_others

    def fail(self, reason: GivenUp, cluster_metadata: ClusterMetadata) -> None:
        """Record why there is no host."""
        trace = self.trace.failed(
            placed=reason.placed,
            wanted=len(self.slots),
            aggregate_names={each.uuid: each.name for each in cluster_metadata.aggregates},
            reason=reason.reason,
        )
        with log_context(self.context):
            LOG.info("%s: no valid host: %s", self.slots[0].instance_uuid, trace.sentence)
            self.log_filter_results()
        self.error = exception.NoValidHost(reason=trace.sentence, trace=trace.obj_to_primitive())

    def log_filter_results(self) -> None:
        """Log at DEBUG how many hosts each filter left, and some of those that are left."""
        if not LOG.isEnabledFor(logging.DEBUG):
            return
        hosts = [] if self.batch is None else self.batch.selector.hosts.column("host")
        shown = [*map(str, hosts[:_HOSTS_LOGGED_MAX])]
        if len(hosts) > len(shown):
            shown.append(f"{len(hosts) - len(shown):,} more")
        LOG.debug(
            "%s: Filter results: %s; hosts: %s",
            self.slots[0].instance_uuid, self.trace.filter_results,
            ", ".join(shown) or "none",
        )  # fmt: skip

    def for_retry(self) -> SchedulingRequest:
        """Return the request for a retry, with the server group members learned from its batch.

        Its fences are higher than those that released the claims of the first try.
        """
        fences = [int(Fence.from_int(fence).after(1)) for fence in self.request.fences]
        group = self.spec.instance_group
        if group is None or self.batch is None:
            return dataclasses.replace(self.request, fences=fences)
        known = group.with_values(members=list(group.members), hosts=list(group.hosts))
        spec = self.request.request_spec.with_values(instance_group=known)
        return dataclasses.replace(self.request, fences=fences, request_spec=spec)


class GivenUp(Exception):
    """No host was found for a request; ``placed`` is how many of its instances had one."""

    def __init__(self, *, placed: int = 0, reason: str | None = None) -> None:
        super().__init__(reason)
        self.placed = placed
        self.reason = reason


class DecisionBatch:
    """The hosts of requests with equal specs. The caller holds the lock of all batches.

    ``view`` tracks the selections of other batches since the last check, and ``own`` holds the
    instances for which hosts are selected here. ``users`` counts unfinished decisions.
    ``is_shared`` is True once hosts were selected for other requests than the next one.
    """

    def __init__(
        self, selector: HostSelector, view: AssumedPlacementsView, decisions: Sequence[Decision]
    ) -> None:
        self.selector = selector
        self.request: RequestBuilder = functools.cache(selector.ledger.allocation_request)
        self.view = view
        self.own = {uuid for each in decisions for uuid in each.request.instance_uuids}
        self.users = len(decisions)
        self.is_shared = False
        self.selections: dict[Offer, Selection] = {}

    def select(
        self,
        decisions: Sequence[Decision],
        others: Iterable[AssumedPlacement],
        rows_of: Callable[[Iterable[str]], Mapping[str, int]],
        *,
        runners_up: int,
        spread: int,
    ) -> list[AssumedPlacement]:
        """Select hosts for all unclaimed slots in turn, then alternates; fail decisions without.

        Returns the selections that are still to be claimed, without those of dry runs. ``others``
        are selections that other batches made meanwhile. ``spread`` is among how many of the best
        hosts the selection is random.
        """
        self._account_for(others, rows_of)
        for decision in decisions:
            if decision.error is None:
                try:
                    self._select(decision, runners_up, spread)
                except GivenUp as reason:
                    decision.fail(reason, self.selector.hosts.cluster_metadata)
            self.is_shared |= len(decisions) > 1
        placed = [each for each in decisions if each.error is None]
        for decision in placed:
            if len(decision.slots) > 1:
                self._add_alternates([decision])
        self._add_alternates([each for each in placed if len(each.slots) == 1])
        return [each for one in placed if not one.is_dry_run for each in self._assumed(one)]

    def _account_for(
        self,
        placements: Iterable[AssumedPlacement],
        rows_of: Callable[[Iterable[str]], Mapping[str, int]],
    ) -> None:
        """Count instances for which other batches selected these hosts."""
        others = [each for each in placements if each.instance_uuid not in self.own]
        rows = rows_of(each.node_uuid for each in others)
        positions = self.selector.hosts.positions_of(rows)
        for each in others:
            if each.node_uuid in positions:
                self.is_shared = True
                self.selector.note(positions[each.node_uuid], each.instance_uuid, each.amounts)

    def _select(self, decision: Decision, runners_up: int, spread: int) -> None:
        """Select a host for each unclaimed slot; if one fails, take all back, raise ``GivenUp``."""
        trace, waiting = decision.trace, decision.unclaimed_slots
        with trace.stage("choose"):
            for index, slot in enumerate(waiting):
                found = self.selector.choose(
                    slot.instance_uuid, spread=spread, runners_up=runners_up
                )
                if not found:
                    for entry in self.selector.why_none():
                        trace.filtered(*entry)
                    for former in waiting[:index]:
                        self.selector.take_back(former.position, former.instance_uuid)
                    decision.is_blocked_by_others |= self.is_shared
                    raise GivenUp(placed=len(decision.slots) - len(waiting) + index)
                trace.chosen(slot.instance_uuid, self.selector.hosts, found[0], found[1:])
                slot.position = found[0].position

    def _add_alternates(self, decisions: Sequence[Decision]) -> None:
        """Set the offers of one decision, or of several with one slot each.

        For each slot these are its host, then its alternates.
        """
        if not decisions:
            return
        count = max(each.alternates_max for each in decisions)
        slots = [slot for each in decisions for slot in each.slots]
        with decisions[0].trace.stage("alternates"):
            found = pick_alternates(
                self.selector,
                [slot.position for slot in slots],
                count,
                is_one_request=len(decisions[0].slots) > 1,
            )
        alternates_of = iter(found)
        ledger = self.selector.ledger
        for decision in decisions:
            decision.offers = []
            for slot in decision.slots:
                others = next(alternates_of)[: decision.alternates_max]
                own = slot.position, ledger.candidate_of(slot.instance_uuid)
                decision.offers.append([own, *((at, ledger.candidate_at(at)) for at in others)])

    def _assumed(self, decision: Decision) -> Iterator[AssumedPlacement]:
        hosts, ledger = self.selector.hosts, self.selector.ledger
        for slot in decision.unclaimed_slots:
            yield AssumedPlacement(
                slot.instance_uuid,
                hosts.value("uuid", slot.position),
                self.request(ledger.candidate_of(slot.instance_uuid)),
            )
