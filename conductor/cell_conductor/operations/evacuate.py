"""Evacuate operation: rebuild an instance on another host while its own is down.

The instance holds allocations at both ends (specification, workflow, section 7.3): the cell adds
the destination to what the instance holds, and removes the source once that host is back and has
destroyed the guest.
"""

from collections.abc import Collection

from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Arguments,
    Flow,
    OwnStage,
    OwnWork,
    Side,
)
from conductor.cell_conductor.operations.move_stages import Allocations
from conductor.cell_conductor.operations.power import set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows, fence
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Evacuated, Move
from objects.instances.instance_command import Verb
from objects.instances.migration import MigrationStatus

ADD = "add_claim"
CLAIM = "claim"
SPAWN = "spawn"
DROP_TRIED = "drop_tried"
TAKE_AWAY = "take_away"


def held_by(work: OwnWork) -> Allocations:
    """Return the instance's allocations in the form that claims use."""
    uuid = work.instance.uuid
    return work.placement.get_allocations(work.context, [uuid]).get(uuid, {})


def without(allocations: Allocations, providers: Collection[str]) -> Allocations:
    return {uuid: taken for uuid, taken in allocations.items() if uuid not in providers}


def _add(work: OwnWork) -> str:
    """Add the claim of the host being tried to the instance's allocations."""
    move = Move.of(work.operation)
    if not move.has_selection(move.position):
        return UNDONE
    wanted: Allocations = move.selection.allocation_request
    if not wanted:
        return CLAIM
    held = without(held_by(work), wanted)
    added = fence(work.operation).of_added(move.position)
    host = move.selection.service_host
    is_claimed = move_stages.claim(work, {**held, **wanted}, added, host=host)
    return CLAIM if is_claimed else ADD


def _added(rows: Rows, following: str) -> None:
    if following == ADD:
        move_stages.try_next(rows)


def _take_away(work: OwnWork) -> str:
    """Remove the failed host from the instance's allocations."""
    move = Move.of(work.operation)
    tried = move.selection.allocation_request
    held = held_by(work)
    if set(held) & set(tried):
        removed = fence(work.operation).of_added(move.position, is_removed=True)
        source = move.end(Side.SOURCE).host
        move_stages.claim(work, without(held, tried), removed, host=source)
    return ADD


def _next(rows: Rows, _following: str) -> None:
    move_stages.try_next(rows)


def _spawned_at(rows: Rows) -> None:
    move_stages.go_to(rows, Side.DESTINATION)
    rows.status(MigrationStatus.MIGRATING)


def _back(rows: Rows) -> None:
    """Return the instance to its source host and attempt; that host knows of no change."""
    source = Move.of(rows.operation).end(Side.SOURCE)
    rows.place(source.host, source.node, attempt=source.attempt)
    rows.instance.availability_zone = source.availability_zone


def _is_on(operation: models.InstanceOperation) -> Arguments:
    move = Move.of(operation)
    return Arguments(is_on=move.is_on or move.was == "error")


def _done(rows: Rows) -> None:
    set_state_by_power(rows)
    rows.status(MigrationStatus.DONE)
    assert rows.migration is not None
    source = Move.of(rows.operation).end(Side.SOURCE)
    rows.migration.flow_state = Evacuated(source.attempt).stored()


EVACUATE = Flow(
    "evacuate",
    task_state="evacuating",
    vm_states=("active", "stopped", "error"),
    first=move_stages.SCHEDULE,
    stages={
        move_stages.SCHEDULE: move_stages.schedule(then=ADD, undo=UNDONE),
        ADD: OwnStage(_add, leads_to=(CLAIM, ADD, UNDONE), done=_added),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=SPAWN, undo=DROP_TRIED,
            needs_spec=True, on_enter=move_stages.choose_destination,
        ),
        SPAWN: AgentStage(
            Verb.SPAWN, Side.DESTINATION, then=DONE, undo=DROP_TRIED,
            arguments=_is_on, on_enter=_spawned_at, done=take_power_state,
        ),
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=TAKE_AWAY, undo=TAKE_AWAY, on_enter=_back
        ),
        TAKE_AWAY: OwnStage(_take_away, leads_to=(ADD,), done=_next),
    },
    begin=move_stages.begin,
    end=_done,
    undo=move_stages.end_in_error,
    needs=None,
)  # fmt: skip
