"""Host selection for batches of requests that are decided together.

A batch contains requests with equal specs. One lock for the whole process serialises selection on
all batches, so that selections in one batch are visible in the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

from oslo_config import cfg

from scheduler.hosts.host_store import HostStore
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.loading import PluginFailed
from scheduler.selection.assumed_placements import AssumedPlacement, AssumedPlacements
from scheduler.selection.decision import Decision, DecisionBatch, GivenUp
from scheduler.selection.host_selector import Slot, pick_alternates, pick_alternates_of_many

LOG = logging.getLogger(__name__)


class BatchDecider:
    """Selects hosts in batches and publishes the selections. ``selection_lock`` is the common lock.

    ``remember`` is called with the decisions of a batch that got hosts, ``fail`` with each one that
    did not. ``claims`` is whether selections will be claimed.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        fleet: HostStore,
        unclaimed: AssumedPlacements,
        selection_lock: threading.Lock,
        *,
        remember: Callable[[Sequence[Decision], HostTable], None],
        fail: Callable[[Decision, GivenUp], object],
        claims: bool,
    ) -> None:
        self._conf = conf
        self._host_store = fleet
        self._unclaimed = unclaimed
        self._selection_lock = selection_lock
        self._remember = remember
        self._fail = fail
        self._claims = claims

    def decide_on(self, batch: DecisionBatch, decisions: Sequence[Decision]) -> None:
        """Select hosts for all decisions. The caller holds the lock.

        The trace of the first decision records how the batch was created.
        """
        first = decisions[0]
        batch.users = len(decisions)
        for decision in decisions:
            batch.own.update(decision.request.instance_uuids)
            decision.batch = batch
        self._apply_new_selections(batch)
        for decision in decisions:
            if decision is not first:
                decision.spec, decision.is_blocked_by_others = (
                    first.spec,
                    first.is_blocked_by_others,
                )
                decision.trace.adopt(first.trace)
        runners_up: int = self._conf.scheduler.trace_runners_up_max
        for decision in decisions:
            self._choose(decision, runners_up)
            batch.is_shared |= len(decisions) > 1
        self._note_choices(decisions)

    def choose_again(self, decisions: Sequence[Decision], spread: int) -> None:
        """Select new hosts for instances with refused claims, among the ``spread`` best hosts."""
        for batch in dict.fromkeys(each.batch for each in decisions):
            assert batch is not None
            with self._selection_lock:
                self._apply_new_selections(batch)
                self._choose_again_on([each for each in decisions if each.batch is batch], spread)

    def _choose_again_on(self, decisions: Sequence[Decision], spread: int) -> None:
        runners_up: int = self._conf.scheduler.trace_runners_up_max
        for decision in decisions:
            try:
                self._choose(decision, runners_up, spread=spread)
            except PluginFailed as error:
                LOG.exception("%s: a plugin failed", decision.context.request_id)
                self._fail(decision, GivenUp(reason=f"{error}."))
        self._note_choices(decisions)

    def leave(self, decision: Decision) -> None:
        """Record that a decision is finished, successful or not."""
        if decision.batch is None:
            return
        with self._selection_lock:
            decision.batch.users -= 1
            if not decision.batch.users:
                self._unclaimed.end(decision.batch.watch)

    def _apply_new_selections(self, batch: DecisionBatch) -> None:
        """Apply selections made in other batches since the last look."""
        news = [
            each for each in self._unclaimed.news(batch.watch)
            if each.instance_uuid not in batch.own
        ]  # fmt: skip
        rows = self._host_store.rows_of(choice.node_uuid for choice in news)
        positions = batch.selector.hosts.positions_of(rows)
        for choice in news:
            if choice.node_uuid in positions:
                batch.is_shared = True
                batch.selector.note(
                    positions[choice.node_uuid], choice.instance_uuid, choice.amounts
                )

    def _choose(self, decision: Decision, runners_up: int, *, spread: int = 1) -> None:
        """Select a host for each unclaimed instance, or fail the request."""
        batch, trace = decision.batch, decision.trace
        assert batch is not None
        waiting = decision.unclaimed
        with trace.stage("choose"):
            for index, wanted in enumerate(waiting):
                choice = batch.selector.choose(
                    wanted.instance_uuid, spread=spread, runners_up=runners_up
                )
                if choice is None:
                    placed = len(decision.instances) - len(waiting) + index
                    for entry in batch.selector.why_none():
                        trace.filtered(*entry)
                    self._take_back(decision, waiting[:index])
                    decision.is_blocked_by_others |= batch.is_shared
                    self._fail(decision, GivenUp(placed=placed))
                    return
                trace.chosen(wanted.instance_uuid, batch.selector.hosts, choice)
                wanted.position = choice.chosen.position

    def _take_back(self, decision: Decision, chosen: Sequence[Slot]) -> None:
        assert decision.batch is not None
        for wanted in chosen:
            decision.batch.selector.take_back(wanted.position, wanted.instance_uuid)

    def _note_choices(self, decisions: Sequence[Decision]) -> None:
        """Select alternates, and publish the selections to other decisions."""
        placed = [each for each in decisions if each.error is None]
        self._pick_alternates(placed)
        to_be_used: dict[DecisionBatch, list[Decision]] = {}
        for decision in placed:
            if not decision.is_dry_run and decision.batch is not None:
                to_be_used.setdefault(decision.batch, []).append(decision)
        for batch, some in to_be_used.items():
            self._remember(some, batch.selector.hosts)
        if self._claims:
            self._unclaimed.add(
                choice for each in placed if not each.is_dry_run for choice in _choices(each)
            )

    def _pick_alternates(self, decisions: Sequence[Decision]) -> None:
        of_boards: dict[DecisionBatch, list[Decision]] = {}
        for each in decisions:
            assert each.batch is not None
            if len(each.instances) == 1:
                of_boards.setdefault(each.batch, []).append(each)
            else:
                _set_offers(
                    each, pick_alternates(each.batch.selector, each.positions, each.alternates_max)
                )
        for batch, alone in of_boards.items():
            count = max(each.alternates_max for each in alone)
            positions = [each.instances[0].position for each in alone]
            with alone[0].trace.stage("alternates"):
                rows = pick_alternates_of_many(batch.selector, positions, count)
            for each, row in zip(alone, rows, strict=True):
                _set_offers(each, [row[: each.alternates_max]])


def _choices(decision: Decision) -> Iterator[AssumedPlacement]:
    batch = decision.batch
    assert batch is not None
    hosts = batch.selector.hosts
    for wanted in decision.unclaimed:
        request = batch.request(batch.selector.ledger.candidate_of(wanted.instance_uuid))
        yield AssumedPlacement(wanted.instance_uuid, hosts.value("uuid", wanted.position), request)


def _set_offers(decision: Decision, alternates: Sequence[Sequence[int]]) -> None:
    assert decision.batch is not None
    ledger = decision.batch.selector.ledger
    decision.offers = [
        [
            (wanted.position, ledger.candidate_of(wanted.instance_uuid)),
            *((each, ledger.candidate_at(each)) for each in others),
        ]
        for wanted, others in zip(decision.instances, alternates, strict=True)
    ]
