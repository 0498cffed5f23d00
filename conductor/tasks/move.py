"""Find hosts for an instance that is to move: hold what it has, schedule, give the cell the answer.

A move is stored before anything is done for it. The instance's cell stores the operation first, so
that it changes state there and nowhere else, and waits; what is found, or why nothing is, goes
there. Each step may be done twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext, admin_context
from conductor import move_specs, stored_contexts, traces
from conductor.api_db import cell_changes, models, move_traces, moves
from conductor.api_db.move_traces import MoveTrace
from conductor.api_db.moves import Move
from conductor.leases import Lease, LeaseKeeper, Leases
from conductor.moments import moment
from conductor.tasks import base
from conductor.tasks.base import (
    NO_VALID_HOST,
    REFUSED,
    TOO_LATE,
    GivenUp,
    LeaseLost,
    Parts,
    Step,
    Watch,
)
from objects.allocation import ALTERNATE_PLACE, TRY_FENCES
from objects.decision_trace import DecisionTrace
from objects.instance import Instance
from objects.instance_fault import InstanceFault
from objects.request_spec import RequestSpec
from objects.selection import Selection

LOG = logging.getLogger(__name__)

T = TypeVar("T")

HELD = frozenset({"resize", "migrate", "live_migrate"})
"""Operations in which the migration holds what the instance has at its source."""
CLAIMED_LATER = frozenset({"evacuate"})
"""Operations whose cell claims: the instance holds both ends, and no scheduler adds to a claim."""
TOLD_AS = {
    **dict.fromkeys(HELD, "migrate_server"),
    "evacuate": "rebuild_server",
    "unshelve": "unshelve_instance",
}
"""What operators know an operation by that finds no host."""
TRIES_MAX = (ALTERNATE_PLACE - 1) // TRY_FENCES
"""So many tries to schedule have fences of their own, between that of the hold and the cell's."""
SENTENCE_LENGTH_MAX = 15_000
"""Characters of why there is no host in lists of decisions; the trace has all of them."""


def nothing_more(_session: Session) -> None:
    """Write nothing beside a move."""


def _is_refusal(error: Exception) -> bool:
    """Return whether a cell said no, so that nothing was begun there."""
    return isinstance(error, exception.NotFound | exception.Conflict | exception.Invalid)


class MoveTask:
    """One conductor's work on one move, under one lease. Used by one thread."""

    def __init__(self, parts: Parts, moves_leases: Leases, lease: Lease, watch: Watch) -> None:
        self._parts = parts
        self._leases = moves_leases
        self._lease = lease
        self._watch = watch
        self._move: Move
        self._fence = 0
        self._instance: Instance | None = None
        self._spec: RequestSpec | None = None
        self._selections: list[Selection] = []
        self._trace: DecisionTrace | None = None

    def begin(self) -> None:
        """Let the cell store the operation. Raises what begin_operation does."""
        found = self._read(lambda session: moves.find(session, self._lease.key))
        if found is None:
            raise LeaseLost(self._lease.key)
        self._move = found
        self._fence = self._parts.cells.call(
            found.cell_uuid,
            lambda cell: cell.begin_operation(
                self._context, found.instance_uuid, found.operation, found.arguments
            ),
        )

    def run(self) -> None:
        """Go on until the cell has an answer. Raises what kept it from that."""
        try:
            self.begin()
        except exception.ArmillaryError as error:
            is_unsent = isinstance(error, exception.RpcVersionTooOld)
            if is_unsent or not _is_refusal(error):
                raise  # somebody newer may have begun it, or nobody knows
            LOG.info("%s: its move is void: %s", self._lease.key, error)
        else:
            self._find_hosts()
        self._write(lambda session: moves.remove(session, self._lease.key))

    def _find_hosts(self) -> None:
        try:
            base.run(self, STEPS, self._watch)
        except GivenUp as reason:
            self._give_up(reason)
        except exception.InstanceNotFound as error:
            LOG.info("%s: its move is void: %s", self._lease.key, error)

    # Steps

    def check_deadline(self) -> None:
        """Give up what could not be scheduled for too long, or too often to try once more."""
        limit = timedelta(seconds=self._parts.conf.conductor.scheduling_deadline_seconds)
        if moment(self._parts.now()) >= self._move.accepted_at + limit:
            raise GivenUp(TOO_LATE, f"Not scheduled within {limit.total_seconds():.0f} s")
        if self._move.takes > TRIES_MAX:
            raise GivenUp(TOO_LATE, f"Not scheduled in {TRIES_MAX} tries")

    def read_instance(self) -> None:
        """Read what is to move, and what has to be asked for it."""
        move = self._move
        instance = self._parts.cells.call(
            move.cell_uuid, lambda cell: cell.get_instance(self._context, move.instance_uuid)
        )
        self._spec = move_specs.make(
            self._parts.database,
            self._parts.cells,
            self._parts.conf.pci.alias,
            self._context,
            move=move,
            instance=instance,
        )
        self._instance = instance

    def hold(self) -> None:
        """Let the migration hold what the instance has."""
        if self._move.operation not in HELD:
            return
        try:
            self._parts.placement.move_allocations(
                admin_context(),
                self._move.instance_uuid,
                self._move.migration_uuid,
                fence=self._fence,
                consumer_type="MIGRATION",
            )
        except exception.ConsumerNotFound:
            LOG.debug("%s holds nothing in placement", self._move.instance_uuid)
        except exception.ConsumerGenerationConflict as error:
            if not self._is_held():
                raise GivenUp(REFUSED, error.message) from error

    def release_former_claims(self) -> None:
        """Free what a try of unknown outcome has claimed, and refuse what it may claim yet.

        By a fence below that of the claim to come: what is delivered late must not free that.
        """
        if self._move.takes > 1 and self._move.operation not in CLAIMED_LATER:
            self._parts.placement.release(
                admin_context(), {self._move.instance_uuid: self._claim_fence - 1}
            )

    def select_destinations(self) -> None:
        """Ask a scheduler for a host, and alternates."""
        assert self._spec is not None, "read_instance comes before"
        is_dry = self._move.operation in CLAIMED_LATER
        try:
            if is_dry:
                found = self._parts.scheduler.select_destinations(
                    self._context, self._spec, [self._move.instance_uuid],
                    fences=[self._claim_fence], dry_run=True,
                    timeout_seconds=self._patience_seconds,
                )  # fmt: skip
            else:
                found = self._parts.scheduling.select_destinations(
                    self._context, self._spec, [self._move.instance_uuid],
                    fences=[self._claim_fence], timeout_seconds=self._patience_seconds,
                )  # fmt: skip
        except exception.NoValidHost as error:
            self._trace = traces.from_error(error.kwargs.get("trace"))
            raise GivenUp(NO_VALID_HOST, error.kwargs.get("reason") or error.message) from error
        except (exception.Invalid, exception.NotFound, exception.RequestFilterFailed) as error:
            raise GivenUp(REFUSED, error.message) from error
        self._selections = found.selections()[0]
        self._trace = found.trace

    def store_trace(self) -> None:
        """Keep why it goes there; a later try's decision takes the place of this one."""
        if self._trace is not None:
            self._keep_trace(self._trace, host=self._selections[0].service_host)

    def allow_change_of_cell(self) -> None:
        """Store that it may lead to another cell, if it does: nothing is passed on without."""
        move = self._move
        if any(chosen.cell_uuid != move.cell_uuid for chosen in self._selections):
            now = moment(self._parts.now())
            self._write(
                lambda session: cell_changes.allow(
                    session, move.migration_uuid, move.instance_uuid, move.cell_uuid, now=now
                )
            )

    def go_on(self) -> None:
        """Give the cell what was found."""
        move = self._move
        assert self._spec is not None, "read_instance comes before"
        facts = {
            "selections": [each.obj_to_primitive() for each in self._selections],
            "request_spec": self._spec.obj_to_primitive(),
        }
        try:
            self._parts.cells.call(
                move.cell_uuid,
                lambda cell: cell.go_on_with_operation(
                    self._context, move.instance_uuid, move.migration_uuid, facts
                ),
            )
        except exception.Conflict as error:
            LOG.info("%s: its move is void: %s", move.instance_uuid, error)

    # Within

    def _is_held(self) -> bool:
        """Tell whether the migration holds the source, and the instance a claim of a former try."""
        held = self._parts.placement.get_allocations(admin_context(), [self._move.migration_uuid])
        return bool(held)

    def _give_up(self, reason: GivenUp) -> None:
        move = self._move
        LOG.info("%s: %s given up: %s", move.instance_uuid, move.operation, reason.details)
        self._keep_trace(self._trace or self._trace_of(reason), host=None)
        fault = InstanceFault.from_values(
            instance_uuid=move.instance_uuid, message=reason.message, details=reason.details
        )
        try:
            self._parts.cells.call(
                move.cell_uuid,
                lambda cell: cell.fail_operation(
                    self._context, move.instance_uuid, move.migration_uuid, fault
                ),
            )
        except exception.Conflict as error:
            LOG.info("%s: its move is void: %s", move.instance_uuid, error)
        else:
            self._tell(reason)

    def _trace_of(self, reason: GivenUp) -> DecisionTrace:
        """Return what is to be said of a move that no scheduler decided about."""
        return DecisionTrace.from_values(
            request_id=self._context.request_id,
            created_at=moment(self._parts.now()),
            sentence=reason.details,
        )

    def _keep_trace(self, trace: DecisionTrace, *, host: str | None) -> None:
        move, conf = self._move, self._parts.conf.conductor
        shared, choices = traces.split(trace, size_max=conf.trace_size_max)
        sentence = trace.sentence
        decided = MoveTrace(
            migration_uuid=move.migration_uuid,
            instance_uuid=move.instance_uuid,
            operation=move.operation,
            request_id=self._context.request_id,
            host=host,
            sentence=None if sentence is None else sentence[:SENTENCE_LENGTH_MAX],
            stored_at=moment(self._parts.now()),
        )
        whole = {**shared, "choices": list(choices.values())}
        keep_max = conf.move_traces_max
        self._write(lambda session: move_traces.store(session, decided, whole, keep_max=keep_max))

    def _tell(self, reason: GivenUp) -> None:
        """Notify operators; the instance stays in the state that it was in."""
        task = TOLD_AS.get(self._move.operation)
        if task is not None:
            self._parts.notifier.compute_task_failed(
                self._context,
                task,
                [self._move.instance_uuid],
                reason.details,
                state=None if self._instance is None else self._instance.vm_state,
                spec=self._spec,
            )

    @property
    def _context(self) -> RequestContext:
        return stored_contexts.from_plain(self._move.context)

    @property
    def _claim_fence(self) -> int:
        return self._fence + TRY_FENCES * self._move.takes - 1

    @property
    def _patience_seconds(self) -> float:
        first = float(self._parts.conf.conductor.step_timeout_seconds)
        longest = float(self._parts.conf.rpc.long_timeout_seconds)
        return min(first * 2 ** min(self._move.takes - 1, 10), longest)

    def _read(self, query: Callable[[Session], T]) -> T:
        with self._parts.database.reader() as session:
            return query(session)

    def _write(self, fn: Callable[[Session], T]) -> T:
        def ours(session: Session) -> T:
            if not self._leases.renew(session, self._lease):
                raise LeaseLost(self._lease.key)
            return fn(session)

        return self._parts.database.run_in_writer(ours)


STEPS: Sequence[Step[MoveTask]] = (
    Step("check deadline of move", MoveTask.check_deadline),
    Step("read instance", MoveTask.read_instance),
    Step("hold source", MoveTask.hold),
    Step("release former claims of move", MoveTask.release_former_claims),
    Step("select destinations of move", MoveTask.select_destinations),
    Step("store trace of move", MoveTask.store_trace),
    Step("allow change of cell", MoveTask.allow_change_of_cell),
    Step("go on in cell", MoveTask.go_on),
)


class Moves:
    """Has moves worked on by a bounded number of workers: new ones, and those left lying."""

    def __init__(
        self,
        parts: Parts,
        leases: Leases,
        workers: WorkerPool,
        watch: Watch = base.unwatched,
    ) -> None:
        self._parts = parts
        self._leases = leases
        self._keeper = LeaseKeeper(parts.database, leases)
        self._workers = workers
        self._watch = watch

    def accept(self, move: Move, within: Callable[[Session], None] = nothing_more) -> None:
        """Store a move and have its cell begin it; the rest is done soon.

        ``within`` writes in the transaction that stores it, and may raise. Raises
        InstanceInvalidState, InstanceNotFound, Invalid with no move stored; CellUnavailable and
        RpcFailed when it is not known whether the cell has begun: then it goes on later.
        """
        lease = self._leases.held(move.migration_uuid)

        def write(session: Session) -> None:
            within(session)
            moves.add(session, move, lease.columns)

        self._parts.database.run_in_writer(write)
        self._keeper.keep(lease)
        try:
            MoveTask(self._parts, self._leases, lease, self._watch).begin()
        except Exception as error:
            if not _is_refusal(error):
                self._drop(lease, 0.0)
                raise
            self._keeper.drop(lease)
            self._parts.database.run_in_writer(
                lambda session: moves.remove(session, move.migration_uuid)
            )
            raise
        try:
            self._workers.submit(self.work, lease)
        except (WorkerPoolFull, RuntimeError):  # the latter when this process is about to end
            self._drop(lease, 0.0)

    def resume(self, migration_uuids: Sequence[str]) -> None:
        """Take up moves that nobody works on, as many as there are workers for."""
        for migration_uuid in migration_uuids:
            lease = self._take(migration_uuid)
            if lease is None:
                continue
            LOG.info("%s: move taken up again", migration_uuid)
            self._keeper.keep(lease)
            try:
                self._workers.submit(self.work, lease)
            except (WorkerPoolFull, RuntimeError):
                self._drop(lease, 0.0)
                return

    def work(self, lease: Lease) -> None:
        """Work on a move now; on any failure leave it to be taken up after a pause."""
        task = MoveTask(self._parts, self._leases, lease, self._watch)
        try:
            task.run()
        except LeaseLost:
            LOG.debug("%s: another conductor works on it now, or it is over", lease.key)
        except Exception as error:
            LOG.warning("%s: move of unknown outcome, will be tried again: %s", lease.key, error)
            LOG.debug("%s: because of", lease.key, exc_info=True)
            self._drop(lease, float(self._parts.conf.conductor.retry_pause_seconds))
        else:
            self._keeper.drop(lease)

    def renew_leases(self) -> None:
        """Move the end of the leases of all that is in hand."""
        self._keeper.renew_all()

    def give_back(self) -> None:
        """Leave what is in hand to other conductors."""
        self._keeper.let_go_all()

    def _take(self, migration_uuid: str) -> Lease | None:
        return self._parts.database.run_in_writer(
            lambda session: self._leases.take(session, migration_uuid, takes=models.Move.takes + 1)
        )

    def _drop(self, lease: Lease, pause_seconds: float, **values: Any) -> None:
        self._keeper.drop(lease)
        try:
            self._parts.database.run_in_writer(
                lambda session: self._leases.let_go(
                    session, lease, retry_in_seconds=pause_seconds, **values
                )
            )
        except exception.DatabaseUnavailable as error:
            LOG.warning("%s: its lease runs out by itself: %s", lease.key, error)
