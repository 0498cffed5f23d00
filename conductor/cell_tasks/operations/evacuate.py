"""Evacuation: build an instance anew elsewhere while its host is down.

The instance holds what it has at both ends (specification, workflow, section 7.3): the cell adds
the destination to what it holds, and takes the source away when that host has come back and left
the guest go.
"""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.cell_db import models
from conductor.cell_tasks.operations import moving
from conductor.cell_tasks.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Facts,
    Flow,
    OwnStage,
    Parts,
    Side,
)
from conductor.cell_tasks.operations.power import rest_by_power, take_power_state
from conductor.cell_tasks.operations.rows import ALTERNATE, Rows, fence, selection
from objects.allocation import AllocationClaim
from objects.instance_order import Verb
from objects.migration import MigrationStatus

ADD = "add_claim"
CLAIM = "claim"
SPAWN = "spawn"
DROP_TRIED = "drop_tried"
TAKE_AWAY = "take_away"

Allocations = dict[str, dict[str, dict[str, int]]]


def held_by(parts: Parts, context: RequestContext, consumer: str) -> Allocations:
    """Return what a consumer holds, as claims write it."""
    return parts.placement.get_allocations(context, [consumer]).get(consumer, {})


def hold(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    allocations: Allocations,
    number: int,
) -> bool:
    """Let the instance hold exactly these; false when placement refuses."""
    claim = AllocationClaim.from_values(
        consumer_uuid=instance.uuid,
        project_id=instance.project_id,
        user_id=instance.user_id,
        allocations=allocations,
        fence=number,
        replace=True,
    )
    (result,) = parts.placement.claim(context, [claim])
    return bool(result.is_claimed)


def without(allocations: Allocations, providers: Any) -> Allocations:
    """Return allocations but those of some providers."""
    return {uuid: taken for uuid, taken in allocations.items() if uuid not in providers}


def _add(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Add what the host that is tried now needs to what the instance holds."""
    position = operation.facts["position"]
    if position >= len(operation.facts["selections"]):
        return UNDONE
    wanted: Allocations = selection(operation.facts).allocation_request
    if not wanted:
        return CLAIM
    held = without(held_by(parts, context, instance.uuid), wanted)
    number = fence(operation, ALTERNATE + 2 * position)
    return CLAIM if hold(parts, context, instance, {**held, **wanted}, number) else ADD


def _added(rows: Rows, following: str) -> None:
    if following == ADD:
        rows.note(position=rows.facts["position"] + 1)


def _take_away(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Take the host that failed out of what the instance holds."""
    position = operation.facts["position"]
    tried = selection(operation.facts).allocation_request
    held = held_by(parts, context, instance.uuid)
    if set(held) & set(tried):
        number = fence(operation, ALTERNATE + 2 * position + 1)
        hold(parts, context, instance, without(held, tried), number)
    return ADD


def _next(rows: Rows, _following: str) -> None:
    rows.note(position=rows.facts["position"] + 1)


def _spawned_at(rows: Rows) -> None:
    moving.go_to(rows, Side.DESTINATION)
    rows.status(MigrationStatus.MIGRATING)


def _back(rows: Rows) -> None:
    """Put the instance where it was, as the attempt that it was: that host has heard of nothing."""
    source = rows.facts["source"]
    rows.place(source["host"], source["node"], attempt=source["attempt"])
    rows.instance.availability_zone = source["availability_zone"]


def _is_on(facts: Facts) -> dict[str, Any]:
    return {"is_on": facts["is_on"] or facts["was"] == "error"}


def _done(rows: Rows) -> None:
    rest_by_power(rows)
    rows.status(MigrationStatus.DONE)
    assert rows.migration is not None
    rows.migration.facts = {"attempt": rows.facts["source"]["attempt"]}


EVACUATE = Flow(
    "evacuate",
    task_state="evacuating",
    vm_states=("active", "stopped", "error"),
    first=moving.SCHEDULE,
    stages={
        moving.SCHEDULE: moving.schedule(then=ADD, failed=UNDONE),
        ADD: OwnStage(_add, leads_to=(CLAIM, ADD, UNDONE), done=_added),
        CLAIM: AgentStage(
            Verb.CLAIM, Side.DESTINATION, then=SPAWN, failed=DROP_TRIED, down=DROP_TRIED,
            needs_spec=True, begun=moving.choose_destination,
        ),
        SPAWN: AgentStage(
            Verb.SPAWN, Side.DESTINATION, then=DONE, failed=DROP_TRIED, down=DROP_TRIED,
            arguments=_is_on, begun=_spawned_at, done=take_power_state,
        ),
        DROP_TRIED: AgentStage(
            Verb.DROP, Side.DESTINATION, then=TAKE_AWAY, failed=TAKE_AWAY, down=TAKE_AWAY,
            begun=_back,
        ),
        TAKE_AWAY: OwnStage(_take_away, leads_to=(ADD,), done=_next),
    },
    begin=moving.begin,
    end=_done,
    undo=moving.end_in_error,
    needs=None,
)  # fmt: skip
