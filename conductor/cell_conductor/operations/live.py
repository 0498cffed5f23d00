"""Live migration: move a running or paused guest; abortable while memory is copied."""

import dataclasses

from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import DONE, UNDONE, AgentStage, Arguments, Flow, Side
from conductor.cell_conductor.operations.power import set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import LiveMove
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.migration import MigrationStatus

DESCRIBE = "describe"
PREPARE = "prepare"
COPY = "copy"
COMPLETE = "complete"
DROP_TRIED = "drop_tried"
DROP_PREPARED = "drop_prepared"
DROP_SOURCE = "drop_source"
RELEASE_LOST = "release_lost"


def _described(rows: Rows, answer: CommandAnswer) -> None:
    state = LiveMove.of(rows.operation)
    dataclasses.replace(state, source_description=answer.source or {}).store(rows.operation)


def _prepare(rows: Rows) -> None:
    move_stages.choose_destination(rows)
    rows.status(MigrationStatus.PREPARING)


def _prepare_arguments(operation: models.InstanceOperation) -> Arguments:
    return Arguments(source=LiveMove.of(operation).source_description)


def _prepared(rows: Rows, answer: CommandAnswer) -> None:
    state = LiveMove.of(rows.operation)
    described = answer.destination or {}
    dataclasses.replace(state, destination_description=described).store(rows.operation)


def _copy(rows: Rows) -> None:
    """Queue the copy; it counts as running once its host reports progress."""
    rows.status(MigrationStatus.QUEUED)


def _copy_arguments(operation: models.InstanceOperation) -> Arguments:
    """Return what the copy needs; an agent that lost a signal to it learns of that, too."""
    state = LiveMove.of(operation)
    return Arguments(
        destination=state.destination_description,
        is_aborted=state.is_aborted or None,
        is_forced=state.is_forced or None,
    )


def _complete_arguments(operation: models.InstanceOperation) -> Arguments:
    """Return whether it is to run: its source's agent may have held it while it was copied."""
    return Arguments(is_on=LiveMove.of(operation).was == "active")


def _copied(rows: Rows, _answer: CommandAnswer) -> None:
    rows.status(MigrationStatus.POST_MIGRATING)
    if rows.migration is not None and rows.migration.memory_total_mb is not None:
        rows.migration.memory_remaining_mb = 0  # a fast one ends before its next report
    move_stages.go_to(rows, Side.DESTINATION)


def _completed(rows: Rows) -> None:
    set_state_by_power(rows)
    rows.status(MigrationStatus.COMPLETED)


def _not_moved(rows: Rows) -> None:
    """Leave the guest on its source; or mark it as lost if it failed to arrive."""
    state = LiveMove.of(rows.operation)
    if state.is_gone:
        rows.instance.vm_state, rows.instance.power_state = "error", None
        rows.status(MigrationStatus.ERROR)
        return
    rows.instance.vm_state = state.was
    rows.status(MigrationStatus.CANCELLED if state.is_aborted else MigrationStatus.ERROR)


def _lose(rows: Rows) -> None:
    dataclasses.replace(LiveMove.of(rows.operation), is_gone=True).store(rows.operation)


LIVE_MIGRATE = Flow(
    "live_migrate",
    task_state="migrating",
    vm_states=("active", "paused"),
    first=move_stages.SCHEDULE,
    stages={
        move_stages.SCHEDULE: move_stages.schedule(then=DESCRIBE),
        DESCRIBE: AgentStage(
            Verb.DESCRIBE_LIVE, Side.SOURCE, then=move_stages.SECURE, undo=move_stages.GIVE_BACK,
            done=_described,
        ),
        move_stages.SECURE: move_stages.secure(ready=PREPARE),
        PREPARE: AgentStage(
            Verb.PREPARE_LIVE, Side.DESTINATION, then=COPY, undo=DROP_TRIED,
            arguments=_prepare_arguments, needs_spec=True, on_enter=_prepare, done=_prepared,
        ),
        DROP_TRIED: move_stages.drop_destination(then=move_stages.NEXT),
        move_stages.NEXT: move_stages.next_host(ready=PREPARE),
        COPY: AgentStage(
            Verb.LIVE_MIGRATE, Side.SOURCE, then=COMPLETE, undo=DROP_PREPARED,
            is_awaited=True, is_abortable=True, arguments=_copy_arguments, on_enter=_copy,
            done=_copied,
        ),
        DROP_PREPARED: move_stages.drop_destination(then=move_stages.GIVE_BACK),
        COMPLETE: AgentStage(
            Verb.COMPLETE_LIVE, Side.DESTINATION, then=DROP_SOURCE, undo=RELEASE_LOST,
            is_awaited=True, arguments=_complete_arguments, done=take_power_state,
        ),
        DROP_SOURCE: AgentStage(
            Verb.DROP, Side.SOURCE, then=move_stages.RELEASE, down=move_stages.RELEASE
        ),
        move_stages.RELEASE: move_stages.releasing(DONE),
        RELEASE_LOST: move_stages.releasing(UNDONE, on_enter=_lose),
        move_stages.GIVE_BACK: move_stages.GIVING_BACK[move_stages.GIVE_BACK],
    },
    begin=move_stages.begin,
    end=_completed,
    undo=_not_moved,
)  # fmt: skip
