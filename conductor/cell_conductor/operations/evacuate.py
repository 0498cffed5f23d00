"""Evacuate operation: rebuild an instance on another host while its own is down.

The instance holds allocations at both ends (specification, workflow, section 7.3): the cell adds
the destination to what the instance holds, and removes the source once that host is back and has
destroyed the guest.
"""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.cell_conductor.operations import move_stages
from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Flow,
    OwnStage,
    Side,
    StageDependencies,
)
from conductor.cell_conductor.operations.power import set_state_by_power, take_power_state
from conductor.cell_conductor.operations.rows import Rows, fence
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Evacuated, Move
from objects.allocation import AllocationClaim
from objects.fence import Fence
from objects.instances.instance_command import Verb
from objects.instances.migration import MigrationStatus

ADD = "add_claim"
CLAIM = "claim"
SPAWN = "spawn"
DROP_TRIED = "drop_tried"
TAKE_AWAY = "take_away"

Allocations = dict[str, dict[str, dict[str, int]]]


def held_by(parts: StageDependencies, context: RequestContext, consumer: str) -> Allocations:
    """Return a consumer's allocations in the form that claims use."""
    return parts.placement.get_allocations(context, [consumer]).get(consumer, {})


def hold(
    parts: StageDependencies,
    context: RequestContext,
    instance: models.Instance,
    allocations: Allocations,
    by: Fence,
) -> bool:
    """Replace the instance's allocations with these; return False if placement refuses."""
    claim = AllocationClaim.from_values(
        consumer_uuid=instance.uuid,
        project_id=instance.project_id,
        user_id=instance.user_id,
        allocations=allocations,
        fence=int(by),
        replace=True,
    )
    (result,) = parts.placement.claim(context, [claim])
    return bool(result.is_claimed)


def without(allocations: Allocations, providers: Any) -> Allocations:
    """Return the allocations except those of some providers."""
    return {uuid: taken for uuid, taken in allocations.items() if uuid not in providers}


def _add(
    parts: StageDependencies,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Add the claim of the host being tried to the instance's allocations."""
    move = Move.of(operation)
    if not move.has_selection(move.position):
        return UNDONE
    wanted: Allocations = move.selection.allocation_request
    if not wanted:
        return CLAIM
    held = without(held_by(parts, context, instance.uuid), wanted)
    added = fence(operation).of_added(move.position)
    return CLAIM if hold(parts, context, instance, {**held, **wanted}, added) else ADD


def _added(rows: Rows, following: str) -> None:
    if following == ADD:
        move_stages.try_next(rows)


def _take_away(
    parts: StageDependencies,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Remove the failed host from the instance's allocations."""
    move = Move.of(operation)
    tried = move.selection.allocation_request
    held = held_by(parts, context, instance.uuid)
    if set(held) & set(tried):
        removed = fence(operation).of_added(move.position, is_removed=True)
        hold(parts, context, instance, without(held, tried), removed)
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


def _is_on(operation: models.InstanceOperation) -> dict[str, Any]:
    move = Move.of(operation)
    return {"is_on": move.is_on or move.was == "error"}


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
        move_stages.SCHEDULE: move_stages.schedule(then=ADD, failed=UNDONE),
        ADD: OwnStage(_add, leads_to=(CLAIM, ADD, UNDONE), done=_added),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=SPAWN, failed=DROP_TRIED, down=DROP_TRIED,
            needs_spec=True, on_enter=move_stages.choose_destination,
        ),
        SPAWN: AgentStage(
            Verb.SPAWN, Side.DESTINATION, then=DONE, failed=DROP_TRIED, down=DROP_TRIED,
            arguments=_is_on, on_enter=_spawned_at, done=take_power_state,
        ),
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=TAKE_AWAY, failed=TAKE_AWAY, down=TAKE_AWAY,
            on_enter=_back,
        ),
        TAKE_AWAY: OwnStage(_take_away, leads_to=(ADD,), done=_next),
    },
    begin=move_stages.begin,
    end=_done,
    undo=move_stages.end_in_error,
    needs=None,
)  # fmt: skip
