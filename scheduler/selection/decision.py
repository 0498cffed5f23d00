"""Decisions in progress, and the batch of those with equal specs, which select in turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from armillary.context import RequestContext
from objects.allocation_candidates import AllocationRequest
from objects.destinations import Destinations
from objects.fence import Fence
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.explain.trace import TraceBuilder
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.selection.assumed_placements import AssumedPlacement, AssumedPlacementsView
from scheduler.selection.host_selector import (
    HostSelector,
    pick_alternates,
    pick_alternates_of_many,
)

Offer = tuple[int, int]
"""Position of a host, and index of the candidate chosen on it."""

Requester = Callable[[int], AllocationRequest]
"""Maps the index of a candidate to the allocation request that claims it."""


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
    fail, blocked hosts for it.
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

    ``view`` tracks the selections of other batches since the last look, and ``own`` holds the
    instances for which hosts are selected here. ``users`` counts unfinished decisions.
    ``is_shared`` is True once hosts were selected for other requests than the next one.
    """

    def __init__(
        self, selector: HostSelector, request: Requester, view: AssumedPlacementsView
    ) -> None:
        self.selector = selector
        self.request = request
        self.view = view
        self.own: set[str] = set()
        self.users = 0
        self.is_shared = False
        self.selections: dict[Offer, Selection] = {}

    def join(self, decisions: Sequence[Decision]) -> None:
        """Add decisions, which share the trace of the first, because the batch was made for it."""
        first, *others = decisions
        self.users = len(decisions)
        for decision in decisions:
            self.own.update(decision.request.instance_uuids)
            decision.batch = self
        for decision in others:
            decision.spec = first.spec
            decision.is_blocked_by_others = first.is_blocked_by_others
            decision.trace.adopt(first.trace)

    def account_for(
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

    def select(self, decision: Decision, runners_up: int, *, spread: int = 1) -> None:
        """Select a host for each unclaimed slot; raise ``GivenUp`` and take all back if one fails.

        ``spread`` is among how many of the best hosts the selection is random.
        """
        trace, waiting = decision.trace, decision.unclaimed_slots
        with trace.stage("choose"):
            for index, slot in enumerate(waiting):
                found = self.selector.choose(
                    slot.instance_uuid, spread=spread, runners_up=runners_up
                )
                if found is None:
                    for entry in self.selector.why_none():
                        trace.filtered(*entry)
                    for former in waiting[:index]:
                        self.selector.take_back(former.position, former.instance_uuid)
                    decision.is_blocked_by_others |= self.is_shared
                    raise GivenUp(placed=len(decision.slots) - len(waiting) + index)
                trace.chosen(slot.instance_uuid, self.selector.hosts, found)
                slot.position = found.chosen.position

    def add_alternates(self, decisions: Sequence[Decision]) -> None:
        """Set the offers of decisions with hosts: for each slot its host, then its alternates."""
        alone = [each for each in decisions if len(each.slots) == 1]
        for each in decisions:
            if len(each.slots) > 1:
                positions = [slot.position for slot in each.slots]
                with each.trace.stage("alternates"):
                    others = pick_alternates(self.selector, positions, each.alternates_max)
                self._set_offers(each, others)
        if not alone:
            return
        count = max(each.alternates_max for each in alone)
        positions = [each.slots[0].position for each in alone]
        with alone[0].trace.stage("alternates"):
            rows = pick_alternates_of_many(self.selector, positions, count)
        for each, row in zip(alone, rows, strict=True):
            self._set_offers(each, [row[: each.alternates_max]])

    def assumed(self, decisions: Iterable[Decision]) -> Iterable[AssumedPlacement]:
        """Yield the selections that are still to be claimed."""
        hosts, ledger = self.selector.hosts, self.selector.ledger
        for decision in decisions:
            for slot in decision.unclaimed_slots:
                yield AssumedPlacement(
                    slot.instance_uuid,
                    hosts.value("uuid", slot.position),
                    self.request(ledger.candidate_of(slot.instance_uuid)),
                )

    def _set_offers(self, decision: Decision, alternates: Sequence[Sequence[int]]) -> None:
        ledger = self.selector.ledger
        decision.offers = [
            [
                (slot.position, ledger.candidate_of(slot.instance_uuid)),
                *((each, ledger.candidate_at(each)) for each in others),
            ]
            for slot, others in zip(decision.slots, alternates, strict=True)
        ]
