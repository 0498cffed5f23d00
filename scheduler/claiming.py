"""Claim what decisions chose: one message to placement for all that wait, each claim on its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

from armillary import exception
from armillary.combining import Combiner
from armillary.context import RequestContext
from objects.allocation import ClaimStatus
from objects.claim_batch import AnyResult, Claim, is_held_before
from placement.rpcapi import PlacementAPI
from scheduler.decision import Decision
from scheduler.selections import Wanted

LOG = logging.getLogger(__name__)

CLAIMS_MAX = 500
"""In one message, unless one call alone has more."""

MESSAGES_MAX = 2
"""So many of them are under way at a time: placement works on one while the next one comes."""

_WAITING_MAX = 10_000

_Claims = tuple[RequestContext, Sequence[Claim]]
_Results = Sequence[AnyResult] | Exception


class Claiming:
    """Claims for decisions of concurrent callers. ``choosing`` guards the boards."""

    def __init__(
        self, placement: PlacementAPI, choosing: threading.Lock, *, clock: Callable[[], float]
    ) -> None:
        self._placement = placement
        self._choosing = choosing
        self._clock = clock
        self._combiner = Combiner[_Claims, _Results](
            self._claim_all,
            weight_max=CLAIMS_MAX,
            waiting_max=_WAITING_MAX,
            leaders_max=MESSAGES_MAX,
        )

    def claim(self, decisions: Sequence[Decision]) -> None:
        """Claim for all unclaimed instances; afterwards those left have been refused.

        A decision gets its error when somebody else acts for one of its instances, and all get that
        of the call.
        """
        wanted = [(each, one) for each in decisions for one in each.unclaimed]
        claims = [_claim_for(decision, one) for decision, one in wanted]
        began = self._clock()
        try:
            results = self._combiner.submit((decisions[0].context, claims), len(claims))
        except Exception as error:
            results = error
        seconds = self._clock() - began
        for decision in decisions:
            decision.trace.took("claim", seconds)
        if isinstance(results, Exception):
            for decision in decisions:
                decision.error = results
            return
        with self._choosing:
            for (decision, one), result in zip(wanted, results, strict=True):
                _note(decision, one, result)

    def _claim_all(self, group: Sequence[_Claims]) -> list[_Results]:
        context = group[0][0]
        claims = [claim for _, some in group for claim in some]
        try:
            results = iter(self._placement.claim(context, claims))
        except exception.Invalid as error:
            if len(group) == 1:
                return [error]
            return [self._claim_all([each])[0] for each in group]  # one of them makes no sense
        return [list(_take(results, len(some))) for _, some in group]


def _take(results: Iterator[AnyResult], count: int) -> Iterator[AnyResult]:
    for _ in range(count):
        yield next(results)


def _claim_for(decision: Decision, wanted: Wanted) -> Claim:
    board = decision.board
    assert board is not None
    return Claim(
        consumer_uuid=wanted.instance_uuid,
        project_id=decision.spec.project_id,
        user_id=decision.spec.user_id,
        allocations=board.request(board.chooser.hosts.candidate_of(wanted.instance_uuid)),
        fence=wanted.fence,
    )


def _note(decision: Decision, wanted: Wanted, result: AnyResult) -> None:
    assert decision.board is not None
    chooser = decision.board.chooser
    if result.is_claimed:
        wanted.is_claimed = True
        if is_held_before(result) and len(decision.instances) > 1:
            # The same request came twice. The other one may yet fail for another instance, and
            # release this claim: nothing may be built on it.
            decision.error = _in_other_hands(result)
    elif result.status in (ClaimStatus.CONFLICT, ClaimStatus.FENCED):
        # Somebody else acts for the instance: a delete, or another worker with this request.
        # Whoever that is releases by a higher fence; releasing here could take theirs away.
        decision.error = _in_other_hands(result)
    else:
        host = chooser.hosts.value("host", wanted.position)
        LOG.info("%s: claim on %s refused: %s", wanted.instance_uuid, host, result.reason)
        decision.trace.refused(wanted.instance_uuid, host, result.reason)
        chooser.refuse(wanted.position, wanted.instance_uuid)


def _in_other_hands(result: AnyResult) -> exception.Conflict:
    return exception.Conflict(
        reason=f"instance {result.consumer_uuid} is in other hands: "
        f"{result.reason or result.status}"
    )
