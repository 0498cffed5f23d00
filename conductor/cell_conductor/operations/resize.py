"""Resize and cold migration, and the operations that end them: confirm and revert.

The guest is powered off at its source and taken over by the destination, where it waits to be
confirmed or reverted. Until then the source keeps what it needs to start the guest again. A resize
on the same host changes the guest in place and keeps allocations for both sizes until then.

A destination in another cell gets its commands from that cell's conductor. Once the guest runs
there, that cell gets the instance, and confirms or reverts. A hidden copy stays here, which becomes
the instance again if that cell hands it back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from armillary import exception
from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import (
    DONE,
    AgentStage,
    Arguments,
    Flow,
    OwnStage,
    OwnWork,
    Side,
    Stage,
)
from conductor.cell_conductor.operations.power import RUNNING, set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import copies, migrations, models
from conductor.common.cell_db.flow_states import ColdMove, FinishedMove, Move
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.migration import MigrationStatus
from objects.instances.operation_arguments import CellOperation

ROUTE = "route"
PREPARE = "prepare"
DETACH = "detach"
ATTACH = "attach"
RESIZE_HERE = "resize_here"
DROP_TRIED = "drop_tried"
DROP_ATTACHED = "drop_attached"
KEEP = "keep_source"
KEEP_OFF = "keep_source_off"
DROP_SOURCE = "drop_source"
SETTLE = "settle"
UNDO_HERE = "undo_here"
UNDO_HERE_OFF = "undo_here_off"
HAND_OVER = "hand_over"
HAND_BACK = "hand_back"
FORGET = "forget"
HANDED_OVER = frozenset({HAND_OVER, HAND_BACK, FORGET})
"""Stages in which another cell is getting the instance, or has it already."""


def _route(work: OwnWork) -> str:
    """Return the stage for a resize in place, or for a move to another host."""
    move = Move.of(work.operation)
    is_here = move.selection.service_host == move.end(Side.SOURCE).host
    return RESIZE_HERE if is_here else PREPARE


def _prepare(rows: Rows) -> None:
    move_stages.choose_destination(rows)
    rows.instance.task_state = "resize_prep"


def _detach(rows: Rows) -> None:
    rows.status(MigrationStatus.MIGRATING)
    rows.instance.task_state = "resize_migrating"


def _detached(rows: Rows, answer: CommandAnswer) -> None:
    move = ColdMove.of(rows.operation)
    dataclasses.replace(move, migration_payload=answer.migration_payload or {}).store(
        rows.operation
    )
    rows.status(MigrationStatus.POST_MIGRATING)
    move_stages.go_to(rows, Side.DESTINATION)


def _attach(rows: Rows) -> None:
    rows.instance.task_state = "resize_finish"


def _attach_arguments(operation: models.InstanceOperation) -> Arguments:
    move = ColdMove.of(operation)
    return Arguments(is_on=move.is_on, migration_payload=move.migration_payload)


def _resize_here(rows: Rows) -> None:
    move_stages.choose_destination(rows)
    rows.status(MigrationStatus.MIGRATING)
    move_stages.go_to(rows, Side.DESTINATION)
    rows.instance.task_state = "resize_finish"


def _back_at_source(rows: Rows) -> None:
    move_stages.go_to(rows, Side.SOURCE)


def _keep(name: str, *, then: str, off: str, down: str | None = None) -> dict[str, AgentStage]:
    """Have the source restore its guest; powered off if it cannot be powered on there.

    A guest that cannot be kept in either state is lost, and the instance ends in ERROR.
    """
    return {
        name: AgentStage(
            Verb.KEEP, Side.SOURCE, then=then, given_up=off, down=down,
            arguments=move_stages.power_at_source, on_enter=_back_at_source, done=take_power_state,
        ),
        off: AgentStage(
            Verb.KEEP, Side.SOURCE, then=then, given_up=move_stages.GIVE_BACK_LOST, down=down,
            arguments=move_stages.stay_off, on_enter=_back_at_source,
            done=move_stages.record_kept_off,
        ),
    }  # fmt: skip


def _hand_over(work: OwnWork) -> str:
    """Give the instance to the cell of its destination."""
    work.others.hand_over(
        work.context, work.operation,
        side=Side.DESTINATION, status=MigrationStatus.FINISHED, vm_state="resized",
    )  # fmt: skip
    return DONE


def _finish(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    assert rows.migration is not None
    rows.migration.flow_state = FinishedMove.of(rows.operation).stored()
    rows.status(MigrationStatus.FINISHED)
    rows.instance.hidden = Move.of(rows.operation).other_cell(Side.DESTINATION) is not None


def _moving_flow(operation: str) -> Flow:
    return Flow(
        operation,
        task_state="resize_prep",
        vm_states=("active", "stopped"),
        first=move_stages.SCHEDULE,
        stages={
            move_stages.SCHEDULE: move_stages.schedule(then=move_stages.SECURE),
            move_stages.SECURE: move_stages.secure(ready=ROUTE),
            ROUTE: OwnStage(_route, leads_to=(RESIZE_HERE, PREPARE)),
            PREPARE: AgentStage(
                Verb.CLAIM, Side.DESTINATION, then=DETACH, undo=DROP_TRIED,
                needs_spec=True, on_enter=_prepare,
            ),
            DETACH: AgentStage(
                Verb.DETACH, Side.SOURCE, then=ATTACH, undo=DROP_ATTACHED,
                on_enter=_detach, done=_detached,
            ),
            ATTACH: AgentStage(
                Verb.ATTACH, Side.DESTINATION, then=DONE, undo=DROP_ATTACHED, away=HAND_OVER,
                arguments=_attach_arguments, on_enter=_attach, done=take_power_state,
            ),
            HAND_OVER: OwnStage(_hand_over, leads_to=(DONE,)),
            RESIZE_HERE: AgentStage(
                Verb.RESIZE, Side.DESTINATION, then=DONE, undo=UNDO_HERE, is_awaited=True,
                needs_spec=True, arguments=move_stages.power_at_source, on_enter=_resize_here,
                done=take_power_state,
            ),
            **_keep(UNDO_HERE, then=move_stages.NEXT, off=UNDO_HERE_OFF),
            DROP_TRIED: move_stages.drop_destination(then=move_stages.NEXT),
            move_stages.NEXT: move_stages.next_host(ready=ROUTE),
            DROP_ATTACHED: move_stages.drop_destination(then=KEEP),
            **_keep(
                KEEP, then=move_stages.GIVE_BACK, off=KEEP_OFF, down=move_stages.GIVE_BACK_LOST
            ),
            **move_stages.GIVING_BACK,
        },
        begin=move_stages.begin,
        end=_finish,
        undo=move_stages.end_in_error,
    )  # fmt: skip


RESIZE = _moving_flow("resize")
MIGRATE = _moving_flow("migrate")


# Confirm and revert -------------------------------------------------------------------------------


def _continue_migration(status: MigrationStatus) -> Any:
    def begin(rows: Rows, _arguments: CellOperation) -> None:
        """Continue with the finished migration of the instance."""
        found = [
            row
            for row in migrations.find_unfinished(rows.session, [rows.instance.uuid])
            if row.status == MigrationStatus.FINISHED
        ]
        if not found:
            raise exception.MigrationNotFound(
                migration=f"a finished resize of server {rows.instance.uuid}"
            )
        rows.operation.migration_uuid = found[0].uuid
        found[0].status = status
        found[0].updated_at = rows.now
        former = FinishedMove.of_migration(found[0])
        dataclasses.replace(
            Move.of(rows.operation),
            was="resized",
            source=former.source,
            destination=former.destination,
            is_on=former.is_on,
        ).store(rows.operation)

    return begin


def _route_stage(away: str, here: str) -> OwnStage:
    def do(work: OwnWork) -> str:
        move = Move.of(work.operation)
        is_here = move.end(Side.SOURCE).host == move.end(Side.DESTINATION).host
        return here if is_here else away

    return OwnStage(do, leads_to=(away, here))


def _confirmed(rows: Rows) -> None:
    set_state_by_power(rows)
    record_confirmed(rows)


def record_confirmed(rows: Rows) -> None:
    """Record that the finished migration of the instance is confirmed."""
    rows.status(MigrationStatus.CONFIRMED)


def _state_at_source(instance: models.Instance, move: Move) -> str:
    """Return the state of a reverted instance, by the power state of its guest."""
    if move.is_lost:
        return "error"
    return "active" if instance.power_state == RUNNING else "stopped"


def _reverted(rows: Rows) -> None:
    move = Move.of(rows.operation)
    rows.instance.vm_state = _state_at_source(rows.instance, move)
    rows.status(MigrationStatus.REVERTED)
    if move.other_cell(Side.SOURCE) is not None:
        copies.leave_tombstone(rows.instance, now=rows.now)


def _stays_resized(rows: Rows) -> None:
    rows.instance.vm_state = "resized"
    rows.status(MigrationStatus.FINISHED)


begin_confirm = _continue_migration(MigrationStatus.CONFIRMING)


def confirm_stages(
    then: str, done: Callable[[Rows, str], None] = lambda _rows, _next: None
) -> dict[str, Stage]:
    """Return the stages that confirm a resize, from ``ROUTE`` on; ``then`` follows them."""

    def release(work: OwnWork) -> str:
        """Release the source; have the source's cell, if it is another, drop its copy."""
        move_stages.release_source(work)
        work.others.end(work.context, work.operation)
        return then

    return {
        ROUTE: _route_stage(away=DROP_SOURCE, here=SETTLE),
        DROP_SOURCE: AgentStage(
            Verb.DROP, Side.SOURCE, then=move_stages.RELEASE, down=move_stages.RELEASE
        ),
        SETTLE: AgentStage(
            Verb.SETTLE, Side.DESTINATION, then=move_stages.RELEASE, down=move_stages.RELEASE
        ),
        move_stages.RELEASE: OwnStage(release, leads_to=(then,), done=done),
    }


CONFIRM = Flow(
    "confirm_resize",
    task_state="resize_confirming",
    vm_states=("resized",),
    first=ROUTE,
    stages=confirm_stages(then=DONE),
    begin=begin_confirm,
    end=_confirmed,
    undo=_stays_resized,
    needs=None,
)


def _give_back(work: OwnWork) -> str:
    move_stages.give_back(work)
    return DONE if Move.of(work.operation).other_cell(Side.SOURCE) is None else HAND_BACK


def _hand_back(work: OwnWork) -> str:
    """Give the instance back to the cell that it came from."""
    work.others.hand_over(
        work.context, work.operation,
        side=Side.SOURCE, status=MigrationStatus.REVERTED,
        vm_state=_state_at_source(work.instance, Move.of(work.operation)),
    )  # fmt: skip
    return FORGET


def _forget(work: OwnWork) -> str:
    """End the move between cells; a separate stage, as no handover may follow it."""
    work.others.end(work.context, work.operation)
    return DONE


REVERT = Flow(
    "revert_resize",
    task_state="resize_reverting",
    vm_states=("resized",),
    first=ROUTE,
    stages={
        ROUTE: _route_stage(away=DROP_ATTACHED, here=KEEP),
        # The guest runs there: a host that is only cut off would run it beside the source's.
        DROP_ATTACHED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=KEEP, given_up_host=KEEP
        ),
        **_keep(KEEP, then=move_stages.GIVE_BACK, off=KEEP_OFF, down=move_stages.GIVE_BACK_LOST),
        move_stages.GIVE_BACK: OwnStage(_give_back, leads_to=(DONE, HAND_BACK)),
        move_stages.GIVE_BACK_LOST: OwnStage(
            _give_back, leads_to=(DONE, HAND_BACK), on_enter=move_stages.lose
        ),
        HAND_BACK: OwnStage(_hand_back, leads_to=(FORGET,)),
        FORGET: OwnStage(_forget, leads_to=(DONE,)),
    },
    begin=_continue_migration(MigrationStatus.REVERTING),
    end=_reverted,
    undo=_stays_resized,
    needs=Side.SOURCE,
)  # fmt: skip
