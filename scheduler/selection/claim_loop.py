"""Claim loop: claim selections, select again after refusals, and clean up failures."""

from __future__ import annotations

from collections.abc import Sequence

from armillary import exception
from placement.rpcapi import PlacementAPI
from scheduler.hosts.host_store import HostStore
from scheduler.selection.assumed_placements import AssumedPlacements
from scheduler.selection.claim_batcher import ClaimBatcher
from scheduler.selection.decision import Decision
from scheduler.selection.decision_batch import BatchDecider
from scheduler.selection.host_selector import CLAIM_ROUNDS_MAX, spread_of


class ClaimLoop:
    """Claims for decisions until they succeed or fail. Thread-safe."""

    def __init__(
        self,
        claiming: ClaimBatcher,
        boards: BatchDecider,
        unclaimed: AssumedPlacements,
        *,
        fleet: HostStore,
        placement: PlacementAPI,
    ) -> None:
        self._claiming = claiming
        self._batches = boards
        self._unclaimed = unclaimed
        self._host_store = fleet
        self._placement = placement

    def claim(self, decisions: Sequence[Decision]) -> None:
        """Claim for all decisions, and select again for those whose claims are refused.

        From the second refusal on, selections are randomised, because competing schedulers use the
        same ranking.
        """
        waiting = [each for each in decisions if each.error is None]
        for claim_round in range(CLAIM_ROUNDS_MAX):
            if not waiting:
                return
            if claim_round:
                self._batches.choose_again(waiting, spread_of(claim_round))
            chosen = [each for each in waiting if each.error is None]
            try:
                if chosen:
                    self._claiming.claim(chosen)
            finally:
                self._settle(waiting)
            waiting = [each for each in waiting if each.error is None and each.unclaimed]
        for decision in waiting:
            decision.error = exception.Unavailable(
                reason=f"claims were refused {CLAIM_ROUNDS_MAX} times in a row because other "
                "requests claimed first"
            )

    def clean_up(self, decision: Decision) -> None:
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

    def _settle(self, decisions: Sequence[Decision]) -> None:
        self._unclaimed.settle(
            wanted.instance_uuid for each in decisions for wanted in each.instances
        )
