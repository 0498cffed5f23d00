"""Choose hosts for requests that are decided together, one after the other.

A board is what requests with equal specs are decided on. One thread at a time works on any board of
the process, so that what was chosen on one is seen on the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

from oslo_config import cfg

from scheduler.decision import Board, Decision, GivenUp
from scheduler.fleet import Fleet
from scheduler.host_table import HostTable
from scheduler.plugins import PluginBroke
from scheduler.selections import Wanted, pick_alternates, pick_alternates_of_many
from scheduler.unclaimed import Choice, Unclaimed

LOG = logging.getLogger(__name__)


class Boards:
    """Chooses, and lets others see it. ``choosing`` is the lock of all boards.

    ``remember`` is told of the decisions of a board that have their hosts, ``fail`` of each that
    has none;
    ``claims`` says whether what is chosen will be claimed.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        fleet: Fleet,
        unclaimed: Unclaimed,
        choosing: threading.Lock,
        *,
        remember: Callable[[Sequence[Decision], HostTable], None],
        fail: Callable[[Decision, GivenUp], object],
        claims: bool,
    ) -> None:
        self._conf = conf
        self._fleet = fleet
        self._unclaimed = unclaimed
        self._choosing = choosing
        self._remember = remember
        self._fail = fail
        self._claims = claims

    def decide_on(self, board: Board, decisions: Sequence[Decision]) -> None:
        """Choose for all of them; needs the lock. The first one knows what led to the board."""
        first = decisions[0]
        board.users = len(decisions)
        for decision in decisions:
            board.own.update(decision.request.instance_uuids)
            decision.board = board
        self._show_news(board)
        for decision in decisions:
            if decision is not first:
                decision.spec, decision.is_crowded = first.spec, first.is_crowded
                decision.trace.adopt(first.trace)
        runners_up: int = self._conf.scheduler.trace_runners_up_max
        for decision in decisions:
            self._choose(decision, runners_up)
            board.is_shared |= len(decisions) > 1
        self._note_choices(decisions)

    def choose_again(self, decisions: Sequence[Decision], spread: int) -> None:
        """Choose for those instances whose claims were refused, spread over so many best hosts."""
        for board in dict.fromkeys(each.board for each in decisions):
            assert board is not None
            with self._choosing:
                self._show_news(board)
                self._choose_again_on([each for each in decisions if each.board is board], spread)

    def _choose_again_on(self, decisions: Sequence[Decision], spread: int) -> None:
        runners_up: int = self._conf.scheduler.trace_runners_up_max
        for decision in decisions:
            try:
                self._choose(decision, runners_up, spread=spread)
            except PluginBroke as error:
                LOG.exception("%s: a plugin broke", decision.context.request_id)
                self._fail(decision, GivenUp(reason=f"{error}."))
        self._note_choices(decisions)

    def leave(self, decision: Decision) -> None:
        """Note that a decision is at its end, placed or not."""
        if decision.board is None:
            return
        with self._choosing:
            decision.board.users -= 1
            if not decision.board.users:
                self._unclaimed.end(decision.board.watch)

    def _show_news(self, board: Board) -> None:
        """Show what was chosen elsewhere since the board was made or looked at last."""
        news = [
            each for each in self._unclaimed.news(board.watch)
            if each.instance_uuid not in board.own
        ]  # fmt: skip
        rows = self._fleet.rows_of(choice.node_uuid for choice in news)
        positions = board.chooser.hosts.positions_of(rows)
        for choice in news:
            if choice.node_uuid in positions:
                board.is_shared = True
                board.chooser.note(
                    positions[choice.node_uuid], choice.instance_uuid, choice.amounts
                )

    def _choose(self, decision: Decision, runners_up: int, *, spread: int = 1) -> None:
        """Give each instance without a claim a host, or give the request up."""
        board, trace = decision.board, decision.trace
        assert board is not None
        waiting = decision.unclaimed
        with trace.stage("choose"):
            for index, wanted in enumerate(waiting):
                choice = board.chooser.choose(
                    wanted.instance_uuid, spread=spread, runners_up=runners_up
                )
                if choice is None:
                    placed = len(decision.instances) - len(waiting) + index
                    for entry in board.chooser.why_none():
                        trace.filtered(*entry)
                    self._take_back(decision, waiting[:index])
                    decision.is_crowded |= board.is_shared
                    self._fail(decision, GivenUp(placed=placed))
                    return
                trace.chosen(wanted.instance_uuid, board.chooser.hosts, choice)
                wanted.position = choice.chosen.position

    def _take_back(self, decision: Decision, chosen: Sequence[Wanted]) -> None:
        assert decision.board is not None
        for wanted in chosen:
            decision.board.chooser.take_back(wanted.position, wanted.instance_uuid)

    def _note_choices(self, decisions: Sequence[Decision]) -> None:
        """Pick alternates, and let other decisions see what was chosen."""
        placed = [each for each in decisions if each.error is None]
        self._pick_alternates(placed)
        to_be_used: dict[Board, list[Decision]] = {}
        for decision in placed:
            if not decision.is_dry_run and decision.board is not None:
                to_be_used.setdefault(decision.board, []).append(decision)
        for board, some in to_be_used.items():
            self._remember(some, board.chooser.hosts)
        if self._claims:
            self._unclaimed.add(
                choice for each in placed if not each.is_dry_run for choice in _choices(each)
            )

    def _pick_alternates(self, decisions: Sequence[Decision]) -> None:
        of_boards: dict[Board, list[Decision]] = {}
        for each in decisions:
            assert each.board is not None
            if len(each.instances) == 1:
                of_boards.setdefault(each.board, []).append(each)
            else:
                _set_offers(
                    each, pick_alternates(each.board.chooser, each.positions, each.alternates_max)
                )
        for board, alone in of_boards.items():
            count = max(each.alternates_max for each in alone)
            positions = [each.instances[0].position for each in alone]
            with alone[0].trace.stage("alternates"):
                rows = pick_alternates_of_many(board.chooser, positions, count)
            for each, row in zip(alone, rows, strict=True):
                _set_offers(each, [row[: each.alternates_max]])


def _choices(decision: Decision) -> Iterator[Choice]:
    board = decision.board
    assert board is not None
    hosts = board.chooser.hosts
    for wanted in decision.unclaimed:
        request = board.request(hosts.candidate_of(wanted.instance_uuid))
        yield Choice(wanted.instance_uuid, hosts.value("uuid", wanted.position), request)


def _set_offers(decision: Decision, alternates: Sequence[Sequence[int]]) -> None:
    assert decision.board is not None
    hosts = decision.board.chooser.hosts
    decision.offers = [
        [
            (wanted.position, hosts.candidate_of(wanted.instance_uuid)),
            *((each, hosts.candidate_at(each)) for each in others),
        ]
        for wanted, others in zip(decision.instances, alternates, strict=True)
    ]
