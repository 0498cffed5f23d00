"""Batched claims: one message to placement for all pending claims, each with its own result."""

import itertools
import logging
import threading
from collections.abc import Callable, Sequence

from armillary import exception
from armillary.concurrency.group_commit import GroupCommit
from armillary.context import RequestContext
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from placement.interface import PlacementAPI
from scheduler.selection.decision import Decision, Slot

LOG = logging.getLogger(__name__)

CLAIMS_MAX = 500
"""Maximum number of claims in one message, unless a single call has more."""

MESSAGES_MAX = 2
"""Maximum number of concurrent messages: placement handles one while the next arrives."""

_WAITING_MAX = 10_000

_Claims = tuple[RequestContext, Sequence[AllocationClaim]]
_Results = Sequence[ClaimResult] | Exception


class ClaimBatcher:
    """Claims for decisions of concurrent callers. ``selection_lock`` is the lock of all batches."""

    def __init__(
        self, placement: PlacementAPI, selection_lock: threading.Lock, *, clock: Callable[[], float]
    ) -> None:
        self._placement = placement
        self._selection_lock = selection_lock
        self._clock = clock
        self._group_commit = GroupCommit[_Claims, _Results](
            self._claim_all,
            weight_max=CLAIMS_MAX,
            waiting_max=_WAITING_MAX,
            leaders_max=MESSAGES_MAX,
        )

    def claim(self, decisions: Sequence[Decision]) -> None:
        """Claim for all unclaimed instances; those that remain unclaimed were refused.

        A decision fails if another process acts for one of its instances; all fail if the call
        does.
        """
        pending = [(each, slot) for each in decisions for slot in each.unclaimed_slots]
        claims = [_claim_for(decision, slot) for decision, slot in pending]
        began = self._clock()
        try:
            results = self._group_commit.submit((decisions[0].context, claims), len(claims))
        except Exception as error:
            results = error
        seconds = self._clock() - began
        for decision in decisions:
            decision.trace.add_seconds("claim", seconds)
        if isinstance(results, Exception):
            for decision in decisions:
                decision.error = results
            return
        with self._selection_lock:
            for (decision, slot), result in zip(pending, results, strict=True):
                _note(decision, slot, result)
        refused = {
            id(decision): decision
            for (decision, _slot), result in zip(pending, results, strict=True)
            if not result.is_claimed and result.status != ClaimStatus.GROUP_CHANGED
        }
        for decision in refused.values():
            decision.rounds_refused += 1

    def _claim_all(self, group: Sequence[_Claims]) -> list[_Results]:
        context = group[0][0]
        claims = [claim for _, some in group for claim in some]
        try:
            results = iter(self._placement.claim(context, claims))
        except exception.Invalid as error:
            if len(group) == 1:
                return [error]
            return [self._claim_all([each])[0] for each in group]  # find the invalid request
        return [list(itertools.islice(results, len(some))) for _, some in group]


def _claim_for(decision: Decision, slot: Slot) -> AllocationClaim:
    batch = decision.batch
    assert batch is not None
    group, host = batch.selector.group, batch.selector.hosts.value("host", slot.position)
    return AllocationClaim(
        consumer_uuid=slot.instance_uuid,
        project_id=decision.spec.project_id,
        user_id=decision.spec.user_id,
        allocations=batch.request(batch.selector.ledger.candidate_of(slot.instance_uuid)),
        fence=slot.fence,
        consumer_type=decision.spec.consumer_type,
        group=None if group is None else group.claim_for(slot.instance_uuid, host),
    )


def _note(decision: Decision, slot: Slot, result: ClaimResult) -> None:
    assert decision.batch is not None
    selector = decision.batch.selector
    if result.is_claimed:
        slot.is_claimed = True
        if result.is_already_held and len(decision.slots) > 1:
            # The request was delivered twice. The other decision may fail for another instance and
            # release this claim, so it must not be used.
            decision.error = _in_other_hands(result)
    elif result.status in (ClaimStatus.CONFLICT, ClaimStatus.FENCED):
        # Another process handles the instance: a delete, or a worker with the same request. It
        # releases with a higher fence; releasing here could remove its allocation.
        decision.error = _in_other_hands(result)
    else:
        host = selector.hosts.value("host", slot.position)
        LOG.info("%s: claim on %s refused: %s", slot.instance_uuid, host, result.reason)
        decision.trace.refused(slot.instance_uuid, host, result.reason)
        if result.status == ClaimStatus.GROUP_CHANGED and selector.group is not None:
            # The host may still be right once the other members are counted.
            selector.group.is_outdated = True
            selector.take_back(slot.position, slot.instance_uuid)
        else:
            selector.refuse(slot.position, slot.instance_uuid)


def _in_other_hands(result: ClaimResult) -> exception.Conflict:
    return exception.Conflict(
        reason=f"instance {result.consumer_uuid} is being processed by another request: "
        f"{result.reason or result.status}"
    )
