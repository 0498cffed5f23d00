"""Evacuate operation: rebuild an instance on another host while its own is down.

There is no automatic failover: an operator, or a program such as Masakari, requests evacuations.
The instance holds allocations at both ends (specification, workflow, section 7.3): the cell adds
the destination to what the instance holds, and removes the source once that host is back and has
destroyed the guest.

A rebuild that the host did not survive is done at the destination: the guest is built from its new
image. If the evacuation fails, the rebuild waits for its host again.
"""

import dataclasses
from collections.abc import Collection

from armillary import exception
from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import (
    DONE,
    TRIES_MAX,
    UNDONE,
    AgentStage,
    Arguments,
    Flow,
    OwnStage,
    OwnWork,
    Side,
)
from conductor.cell_conductor.operations.move_stages import Allocations
from conductor.cell_conductor.operations.power import REBUILD, set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows, fence
from conductor.cell_conductor.operations.transitions import record_failure
from conductor.common.cell_db import instance_changes, models
from conductor.common.cell_db.flow_states import Evacuated, Evacuation, FlowState, Move
from objects.instances.instance_command import Verb
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import MigrationStatus
from objects.instances.operation_arguments import CellOperation

FENCE = "fence_source"
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


def _interrupts_rebuild(instance: models.Instance, _arguments: CellOperation) -> bool:
    """Return whether the instance is being rebuilt: on a host that is down, that does not end."""
    return instance.task_state == REBUILD.task_state


def _begin(rows: Rows, arguments: CellOperation) -> None:
    move_stages.begin(rows, arguments)
    state = dataclasses.replace(Evacuation.of(rows.operation), stays_off=arguments.stays_off)
    state.store(rows.operation)


def _fence(work: OwnWork) -> str:
    """Make sure that nothing runs on the source.

    Raises HostNotFencedYet: wait; Unavailable: try again.
    """
    source = Move.of(work.operation).end(Side.SOURCE)
    try:
        refusal = None if source.host is None else work.fencing.fence(source.host, source.node)
    except exception.HostNotFencedYet:
        raise
    except exception.Unavailable:
        if work.operation.tries + 1 < TRIES_MAX:
            raise
        refusal = "not fenced"
    return ADD if refusal is None else UNDONE


def _note_unfenced(rows: Rows, following: str) -> None:
    """Record why the host is not evacuated."""
    if following == UNDONE:
        source = Move.of(rows.operation).end(Side.SOURCE)
        fault = InstanceFault.from_values(
            instance_uuid=rows.instance.uuid,
            host=source.host,
            message="The evacuate failed: the host was not fenced, or is back.",
            details=f"host {source.host} has sent a heartbeat, or [cell] fencing_command "
            "failed repeatedly; the conductor's log has its output",
        )
        record_failure(rows.operation, fault)


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


def _spawn_arguments(operation: models.InstanceOperation) -> Arguments:
    move = Evacuation.of(operation)
    return Arguments(
        is_on=not move.stays_off and (move.is_on or move.was == "error"),
        former_host=move.end(Side.SOURCE).host,
        is_rebuilt=move.interrupted is not None or None,
    )


def _done(rows: Rows) -> None:
    set_state_by_power(rows)
    if FlowState.of(rows.operation).interrupted is not None:
        instance_changes.forget_password(rows.instance)
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
        move_stages.SCHEDULE: move_stages.schedule(then=FENCE, undo=UNDONE),
        FENCE: OwnStage(_fence, leads_to=(ADD, UNDONE), done=_note_unfenced),
        ADD: OwnStage(_add, leads_to=(CLAIM, ADD, UNDONE), done=_added),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=SPAWN, undo=DROP_TRIED,
            needs_spec=True, on_enter=move_stages.choose_destination,
        ),
        SPAWN: AgentStage(
            Verb.SPAWN, Side.DESTINATION, then=DONE, undo=DROP_TRIED,
            arguments=_spawn_arguments, on_enter=_spawned_at, done=take_power_state,
        ),
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=TAKE_AWAY, given_up=TAKE_AWAY, down=TAKE_AWAY,
            on_enter=_back,
        ),
        TAKE_AWAY: OwnStage(_take_away, leads_to=(ADD,), done=_next),
    },
    begin=_begin,
    end=_done,
    undo=move_stages.end_in_error,
    needs=None,
    replaces=_interrupts_rebuild,
    only_interrupts=True,
)  # fmt: skip
