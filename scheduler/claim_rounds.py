"""Claim what decisions chose, choose again for what is refused, and leave nothing of a failure."""

from __future__ import annotations

from collections.abc import Sequence

from armillary import exception
from placement.rpcapi import PlacementAPI
from scheduler.boards import Boards
from scheduler.claiming import Claiming
from scheduler.decision import Decision
from scheduler.fleet import Fleet
from scheduler.selections import CLAIM_ROUNDS_MAX, spread_of
from scheduler.unclaimed import Unclaimed


class ClaimRounds:
    """Brings decisions to their claims, or to an error. Thread-safe."""

    def __init__(
        self,
        claiming: Claiming,
        boards: Boards,
        unclaimed: Unclaimed,
        *,
        fleet: Fleet,
        placement: PlacementAPI,
    ) -> None:
        self._claiming = claiming
        self._boards = boards
        self._unclaimed = unclaimed
        self._fleet = fleet
        self._placement = placement

    def claim(self, decisions: Sequence[Decision]) -> None:
        """Claim for all, and choose again for those that are refused.

        From the second refusal on choices are spread: whoever was faster reads the same ranking.
        """
        waiting = [each for each in decisions if each.error is None]
        for claim_round in range(CLAIM_ROUNDS_MAX):
            if not waiting:
                return
            if claim_round:
                self._boards.choose_again(waiting, spread_of(claim_round))
            chosen = [each for each in waiting if each.error is None]
            try:
                if chosen:
                    self._claiming.claim(chosen)
            finally:
                self._settle(waiting)
            waiting = [each for each in waiting if each.error is None and each.unclaimed]
        for decision in waiting:
            decision.error = exception.Unavailable(
                reason=f"claims were refused {CLAIM_ROUNDS_MAX} times in a row, other requests "
                "were faster"
            )

    def clean_up(self, decision: Decision) -> None:
        """Forget what was chosen for a request that failed; release what it has claimed.

        Unless somebody else acts for it, as when it came twice, or nobody knows what was claimed:
        then whoever asked takes care of it.
        """
        if decision.is_dry_run or decision.board is None:
            return
        self._fleet.forget(decision.request.instance_uuids)
        is_known = isinstance(decision.error, exception.NoValidHost | exception.Unavailable)
        if is_known and decision.claimed:
            self._placement.release(decision.context, decision.claimed)

    def _settle(self, decisions: Sequence[Decision]) -> None:
        self._unclaimed.settle(
            wanted.instance_uuid for each in decisions for wanted in each.instances
        )
