"""Find hosts for a move: hold the source allocation, schedule, and send the cell the result.

A move is stored before anything is done for it. The instance's cell stores the operation first, so
that the instance changes state there and nowhere else. The cell then waits for the result, which is
a list of hosts or the reason why there is none. Each step may run twice.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common import leased_work
from conductor.common.clock import exact_moment, moment
from conductor.common.leased_work import LeaseLost, Step, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.db import cell_changes, models, moves, request_specs, traces
from conductor.super_conductor.db.moves import Move
from conductor.super_conductor.db.traces import MoveTrace
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.zone_guard import check_zones
from conductor.super_conductor.move import move_specs
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import (
    REFUSALS,
    REFUSED,
    TOO_LATE,
    PermanentFailure,
    no_valid_host,
)
from conductor.super_conductor.scheduling_task import SchedulingTask, SchedulingWork
from objects.allocations.fence import TRIES_MAX, Fence
from objects.instance import Instance
from objects.instances.instance_fault import InstanceFault
from objects.instances.operation_arguments import CellOperation
from objects.request_spec import RequestSpec
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace

LOG = logging.getLogger(__name__)

T = TypeVar("T")

SOURCE_HELD_BY_MIGRATION = frozenset({"resize", "migrate", "live_migrate"})
"""Operations in which the migration holds the instance's allocation at the source."""
CLAIMED_BY_CELL = frozenset({"evacuate"})
"""Operations whose cell makes the claim: the instance holds both ends.

A scheduler cannot add to an existing claim.
"""
NOTIFICATION_NAMES = {
    **dict.fromkeys(SOURCE_HELD_BY_MIGRATION, "migrate_server"),
    "evacuate": "rebuild_server",
    "unshelve": "unshelve_instance",
}
"""Operation -> task name in notifications to operators when no host was found."""
SENTENCE_LENGTH_MAX = 15_000
"""Maximum length in characters of a reason in decision lists; the trace has the full text."""


def write_nothing(_session: Session) -> None:
    """Write nothing besides the move."""


def _is_refusal(error: Exception) -> bool:
    """Return whether a cell rejected the request, so that nothing was started there."""
    return isinstance(error, exception.NotFound | exception.Conflict | exception.Invalid)


class MoveTask(SchedulingTask):
    """One conductor's work on one move."""

    def __init__(
        self, env: Environment, peers: Peers, leases: Leases, lease: Lease, watch: StepHook
    ) -> None:
        super().__init__(env, peers, lease)
        self._leases = leases
        self._watch = watch
        self._move: Move
        self._fence: Fence
        self._instance: Instance | None = None
        self._spec: RequestSpec | None = None
        self._selections: list[Selection] = []
        self._trace: DecisionTrace | None = None

    def begin(self) -> None:
        """Have the cell store the operation. Raises what ``begin_operation`` raises."""
        found = self._read(lambda session: moves.find(session, self.lease.key))
        if found is None:
            raise LeaseLost(self.lease.key)
        self._move, self._take_count = found, found.takes
        arguments = CellOperation(
            migration_uuid=found.migration_uuid,
            migration_type=found.arguments.migration_type,
            new_flavor=move_specs.new_flavor_of(found),
            stays_off=found.arguments.stays_off,
        )
        fence = self._peers.cells.call(
            found.cell_uuid,
            lambda cell: cell.begin_operation(
                self._context, found.instance_uuid, found.operation, arguments
            ),
        )
        self._fence = Fence.from_int(fence)

    def run(self) -> None:
        """Run until the cell has a result."""
        try:
            self.begin()
        except exception.ArmillaryError as error:
            is_unsent = isinstance(error, exception.RpcVersionTooOld)
            if is_unsent or not _is_refusal(error):
                raise  # a newer conductor may have started it; the outcome is unknown
            self._drop(error)
        else:
            self._find_hosts()
        self._write(lambda session: moves.remove(session, self.lease.key))

    def _drop(self, refusal: exception.ArmillaryError) -> None:
        """Record in the instance's actions why its accepted move does not begin."""
        move = self._move
        LOG.info("%s: move dropped: %s", move.migration_uuid, refusal)
        with contextlib.suppress(exception.NotFound):
            self._peers.cells.call(
                move.cell_uuid,
                lambda cell: cell.record_refusal(
                    self._context, move.instance_uuid, move.operation, refusal.message
                ),
            )

    def _find_hosts(self) -> None:
        try:
            leased_work.run(self, STEPS, self._watch)
        except PermanentFailure as reason:
            self._give_up(reason)
        except exception.InstanceNotFound as error:
            LOG.info("%s: move dropped: %s", self.lease.key, error)

    # Steps

    def check_deadline(self) -> None:
        """Give up what missed the scheduling deadline or used all its tries."""
        self._refuse_late(self._move.accepted_at)
        if self._move.takes > TRIES_MAX:
            raise PermanentFailure(TOO_LATE, f"Not scheduled after {TRIES_MAX} tries")

    def read_instance(self) -> None:
        """Read the instance, and build the request spec of the move."""
        move = self._move
        found = self._peers.cells.call(
            move.cell_uuid, lambda cell: cell.get_instance(self._context, move.instance_uuid)
        )
        instance = cell_reports.asked_for(found, move.instance_uuid)
        self._spec = move_specs.make(
            self._env.database,
            self._peers.cells,
            self._env.conf.pci.alias,
            self._context,
            move=move,
            instance=instance,
        )
        self._instance = instance

    def hold(self) -> None:
        """Transfer the instance's allocation to its migration."""
        if self._move.operation not in SOURCE_HELD_BY_MIGRATION:
            return
        try:
            self._peers.placement.move_allocations(
                admin_context(),
                self._move.instance_uuid,
                self._move.migration_uuid,
                fence=int(self._fence),
                consumer_type="MIGRATION",
            )
        except exception.ConsumerNotFound:
            LOG.debug("%s: no allocation in placement", self._move.instance_uuid)
        except exception.ConsumerGenerationConflict as error:
            if not self._is_held():
                raise PermanentFailure(REFUSED, error.message) from error

    def release_former_claims(self) -> None:
        """Release what an earlier try of unknown outcome claimed, and block its late claims.

        The fence is below that of the claim to come, so a late release does not free that.
        """
        if self._move.takes > 1 and self._move.operation not in CLAIMED_BY_CELL:
            self._peers.placement.release(
                admin_context(), {self._move.instance_uuid: int(self._claim_fence.before)}
            )

    def select_destinations(self) -> None:
        """Ask a scheduler for a host and alternates."""
        assert self._spec is not None, "set by read_instance"
        select = self._peers.scheduling.select_destinations
        if self._move.operation in CLAIMED_BY_CELL:
            select = partial(self._peers.scheduler.select_destinations, dry_run=True)
        try:
            found = select(
                self._context, self._spec, [self._move.instance_uuid],
                fences=[int(self._claim_fence)], timeout_seconds=self._answer_timeout_seconds,
            )  # fmt: skip
        except exception.NoValidHost as error:
            self._trace = decision_traces.from_error(error.kwargs.get("trace"))
            raise no_valid_host(self._trace, error.kwargs.get("reason") or error.message) from error
        except REFUSALS as error:
            raise PermanentFailure(REFUSED, error.message) from error
        self._selections = found.selections()[0]
        self._trace = found.trace

    def store_trace(self) -> None:
        """Store why this host was chosen; a later try's trace replaces it."""
        if self._trace is not None:
            self._keep_trace(self._trace, host=self._selections[0].service_host)

    def store_hosts(self) -> None:
        """Store the hosts, which stay in their zones from here on.

        Raises Unavailable if one has left its zone since; the move is scheduled again.
        """
        hosts = {one.service_host for one in self._selections}

        def write(session: Session) -> None:
            check_zones(session, self._env.conf, self._selections)
            moves.store_hosts(session, self._move.migration_uuid, hosts)

        self._write(write)

    def allow_change_of_cell(self) -> None:
        """Record that the move may change cells; another cell is not contacted without this.

        Both cells may write the consumers of the move until it has ended.
        """
        move = self._move
        others = [one.cell_uuid for one in self._selections if one.cell_uuid != move.cell_uuid]
        if others:
            now = moment(self._env.now())
            self._write(
                lambda session: cell_changes.allow(
                    session, move.migration_uuid, move.instance_uuid, move.cell_uuid, now=now
                )
            )
            self._peers.placement.set_consumer_cells(
                admin_context(),
                [move.instance_uuid, move.migration_uuid],
                [move.cell_uuid, others[0]],
            )

    def go_on(self) -> None:
        """Send the cell the selected hosts."""
        move, spec = self._move, self._spec
        assert spec is not None, "set by read_instance"
        try:
            self._peers.cells.call(
                move.cell_uuid,
                lambda cell: cell.continue_operation(
                    self._context, move.instance_uuid, move.migration_uuid, self._selections, spec
                ),
            )
        except exception.Conflict as error:
            LOG.info("%s: move dropped: %s", move.instance_uuid, error)

    # Helpers

    def _is_held(self) -> bool:
        """Return whether the migration holds the source allocation.

        If so, the conflict comes from a claim that an earlier try made for the instance.
        """
        held = self._peers.placement.get_allocations(admin_context(), [self._move.migration_uuid])
        return bool(held)

    def _give_up(self, reason: PermanentFailure) -> None:
        move = self._move
        LOG.info(
            "%s: %s failed permanently: %s", move.instance_uuid, move.operation, reason.details
        )
        self._keep_trace(self._trace or self._trace_of(reason), host=None)
        fault = InstanceFault.from_values(
            instance_uuid=move.instance_uuid, message=reason.message, details=reason.details
        )
        try:
            self._peers.cells.call(
                move.cell_uuid,
                lambda cell: cell.fail_operation(
                    self._context, move.instance_uuid, move.migration_uuid, fault
                ),
            )
        except exception.Conflict as error:
            LOG.info("%s: move dropped: %s", move.instance_uuid, error)
        else:
            self._tell(reason)

    def _keep_trace(self, trace: DecisionTrace, *, host: str | None) -> None:
        move, conf = self._move, self._env.conf.conductor
        selections = {move.instance_uuid: self._selections} if host is not None else None
        whole = decision_traces.split(
            trace, size_max=conf.trace_size_max, selections=selections
        ).whole()
        sentence = trace.sentence
        decided = MoveTrace(
            migration_uuid=move.migration_uuid,
            instance_uuid=move.instance_uuid,
            operation=move.operation,
            request_id=self._context.request_id,
            host=host,
            sentence=None if sentence is None else sentence[:SENTENCE_LENGTH_MAX],
            stored_at=exact_moment(self._env.now()),
        )
        keep_max = conf.move_traces_max
        self._write(
            lambda session: traces.store_move_trace(session, decided, whole, keep_max=keep_max)
        )

    def _tell(self, reason: PermanentFailure) -> None:
        """Notify operators; the instance keeps its state."""
        task = NOTIFICATION_NAMES.get(self._move.operation)
        if task is not None and not self._env.notifier.is_silent:
            self._env.notifier.compute_task_failed(
                self._context,
                task,
                [self._move.instance_uuid],
                reason.details,
                state=None if self._instance is None else self._instance.vm_state,
                spec=self._spec or self._stored_spec(),
            )

    def _stored_spec(self) -> RequestSpec | None:
        return self._env.database.read(request_specs.find_spec, [self._move.instance_uuid])

    @property
    def _context(self) -> RequestContext:
        self._move.context.update_store()
        return self._move.context

    @property
    def _claim_fence(self) -> Fence:
        return self._fence.of_try(self._move.takes)

    def _write(self, fn: Callable[[Session], T]) -> T:
        def ours(session: Session) -> T:
            if not self._leases.renew(session, self.lease):
                raise LeaseLost(self.lease.key)
            return fn(session)

        return self._env.database.run_in_writer(ours)


STEPS: Sequence[Step[MoveTask, None]] = (
    Step("check deadline of move", MoveTask.check_deadline),
    Step("read instance", MoveTask.read_instance),
    Step("hold source", MoveTask.hold),
    Step("release former claims of move", MoveTask.release_former_claims),
    Step("select destinations of move", MoveTask.select_destinations),
    Step("store trace of move", MoveTask.store_trace),
    Step("store hosts of move", MoveTask.store_hosts),
    Step("allow change of cell", MoveTask.allow_change_of_cell),
    Step("continue in cell", MoveTask.go_on),
)


class Moves(SchedulingWork[MoveTask]):
    """Runs new and abandoned moves on a bounded number of workers."""

    ROW = models.Move
    TASK = MoveTask

    def accept(self, move: Move, within: Callable[[Session], None] = write_nothing) -> None:
        """Store a move and have its cell start it; a worker does the rest soon.

        ``within`` writes in the transaction that stores it, and may raise. Raises
        InstanceInvalidState, InstanceNotFound or Invalid with no move stored. Raises
        CellUnavailable or RpcFailed if it is unknown whether the cell has started; the move is
        then resumed later.
        """
        lease = self.leases.held(move.migration_uuid)

        def write(session: Session) -> None:
            within(session)
            moves.add(session, move, lease)

        self._env.database.run_in_writer(write)
        self.keeper.keep(lease)
        try:
            self._task(lease).begin()
        except Exception as error:
            if not _is_refusal(error):
                self._release_lease(lease)
                raise
            self.keeper.drop(lease)
            self._env.database.run_in_writer(moves.remove, move.migration_uuid)
            raise
        self.start(lease)
