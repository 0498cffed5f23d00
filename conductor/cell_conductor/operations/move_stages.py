"""Shared stages of moves: both ends, alternates, and who holds which allocation when.

While an instance moves, its migration holds the source allocation and the instance the destination
allocation (specification, workflow, section 7). A failed move returns the source allocation to the
instance.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

from armillary import exception
from conductor.cell_conductor.operations.flow import (
    UNDONE,
    AgentStage,
    Arguments,
    OwnStage,
    OwnWork,
    Side,
    SuperStage,
    nothing,
)
from conductor.cell_conductor.operations.power import RUNNING, take_power_state
from conductor.cell_conductor.operations.rows import Rows, fence
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import End, Move
from conductor.common.cell_db.stored_object import StoredObject
from objects.allocations.allocation import AllocationClaim
from objects.allocations.fence import FENCE_FINAL, Fence, FenceStep
from objects.instances.group_claim import GroupClaim
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.migration import MigrationStatus
from objects.instances.operation_arguments import CellOperation

SCHEDULE = "schedule"
SECURE = "secure_claim"
NEXT = "next_host"
GIVE_BACK = "give_back"
GIVE_BACK_LOST = "give_back_lost"
"""As ``GIVE_BACK``, for a guest that is lost, or whose host is down."""
RELEASE = "release_source"

Allocations = dict[str, dict[str, dict[str, int]]]


def begin(rows: Rows, arguments: CellOperation) -> None:
    """Store a migration from the instance's host, its destination still unknown."""
    instance, new = rows.instance, arguments.new_flavor
    new_flavor = instance.flavor if new is None else StoredObject.of(new)
    rows.session.add(
        models.Migration(
            uuid=arguments.migration_uuid,
            instance_uuid=instance.uuid,
            migration_type=arguments.migration_type,
            status=MigrationStatus.ACCEPTED,
            source_host=instance.host,
            source_node=instance.node,
            old_flavor=instance.flavor,
            new_flavor=new_flavor,
            flow_state={},
            request_id=rows.operation.context.get("request_id"),
            project_id=instance.project_id,
            user_id=rows.operation.context.get("user_id"),
            created_at=rows.now,
        )
    )
    rows.session.flush()
    move = Move.of(rows.operation)
    source = End(
        host=instance.host,
        node=instance.node,
        attempt=instance.attempt,
        flavor=instance.flavor,
        availability_zone=instance.availability_zone,
        cell_uuid=move.cell_uuid,
    )
    is_on = instance.power_state == RUNNING
    dataclasses.replace(move, source=source, new_flavor=new_flavor, is_on=is_on).store(
        rows.operation
    )


def choose_destination(rows: Rows) -> None:
    """Make the host being tried the destination of the move."""
    destination = store_destination(rows)
    assert rows.migration is not None
    rows.migration.dest_host, rows.migration.dest_node = destination.host, destination.node
    rows.status(MigrationStatus.PRE_MIGRATING)


def store_destination(rows: Rows) -> End:
    move = Move.of(rows.operation)
    chosen = move.selection
    destination = End(
        host=chosen.service_host,
        node=chosen.nodename,
        attempt=rows.instance.attempt + 1,
        flavor=move.new_flavor,
        availability_zone=chosen.availability_zone,
        cell_uuid=chosen.cell_uuid,
    )
    dataclasses.replace(move, destination=destination).store(rows.operation)
    return destination


def go_to(rows: Rows, side: Side) -> None:
    """Place the instance, as a new attempt, on one end of the move with its flavor there.

    In another cell it has no host that is known here.
    """
    move = Move.of(rows.operation)
    end = move.end(side)
    end = dataclasses.replace(end, attempt=max(end.attempt, rows.instance.attempt + 1))
    move.with_end(side, end).store(rows.operation)
    is_here = move.other_cell(side) is None
    rows.place(end.host if is_here else None, end.node if is_here else None, attempt=end.attempt)
    assert end.flavor is not None, "the flavor at both ends is known"
    rows.instance.flavor = end.flavor
    if end.availability_zone:
        rows.instance.availability_zone = end.availability_zone


def power_at_source(operation: models.InstanceOperation) -> Arguments:
    """Pass on whether the guest was powered on at the source."""
    return Arguments(is_on=Move.of(operation).is_on)


def stay_off(_operation: models.InstanceOperation) -> Arguments:
    """Ask the source to keep the guest off: it cannot be powered on there."""
    return Arguments(is_on=False)


def record_kept_off(rows: Rows, answer: CommandAnswer) -> None:
    """Record that the guest stays off, though it was on."""
    dataclasses.replace(Move.of(rows.operation), is_kept_off=True).store(rows.operation)
    take_power_state(rows, answer)


def end_in_error(rows: Rows) -> None:
    """End the migration; restore the instance's state unless its guest was lost or stays off."""
    move = Move.of(rows.operation)
    vm_state = "stopped" if move.is_kept_off else move.was
    rows.instance.vm_state = "error" if move.is_lost else vm_state
    rows.status(MigrationStatus.ERROR)


def lose(rows: Rows) -> None:
    """Record that the guest is lost, or may be off on a host that is down."""
    dataclasses.replace(Move.of(rows.operation), is_lost=True).store(rows.operation)


def _claim(work: OwnWork, position: int, *, ready: str) -> str:
    """Claim one of the selections, replacing what the instance holds; ``NEXT`` if refused."""
    chosen = Move.of(work.operation).selection_at(position)
    if not chosen.allocation_request:  # the scheduler's driver claims nothing
        return ready
    by = fence(work.operation).of_alternate(position)
    is_claimed = claim(work, chosen.allocation_request, by, host=chosen.service_host)
    return ready if is_claimed else NEXT


def claim(work: OwnWork, allocations: Allocations, by: Fence, *, host: str | None) -> bool:
    """Replace the instance's allocations with these; return False if placement refuses.

    ``host`` is the one that the instance moves to, where it meets the members of its server group.
    """
    instance = work.instance
    wanted = AllocationClaim(
        consumer_uuid=instance.uuid,
        project_id=instance.project_id,
        user_id=instance.user_id,
        allocations=allocations,
        fence=int(by),
        replace=True,
        group=None if host is None else GroupClaim(host),
    )
    (result,) = work.placement.claim(work.context, [wanted])
    return bool(result.is_claimed)


def secure(ready: str) -> OwnStage:
    """Return the stage that repeats the claim that the super conductor reported.

    An earlier conductor of the move may also have asked a scheduler, whose claim may have arrived
    later or still be on its way. After this stage the cell's claim stands and late ones are
    refused.
    """

    def do(work: OwnWork) -> str:
        return _claim(work, Move.of(work.operation).position, ready=ready)

    return OwnStage(do, leads_to=(ready, NEXT))


def try_next(rows: Rows) -> None:
    move = Move.of(rows.operation)
    dataclasses.replace(move, position=move.position + 1).store(rows.operation)


def next_host(ready: str) -> OwnStage:
    """Return the stage that claims the next alternate."""

    def do(work: OwnWork) -> str:
        move = Move.of(work.operation)
        position = move.position + 1
        return _claim(work, position, ready=ready) if move.has_selection(position) else GIVE_BACK

    def done(rows: Rows, following: str) -> None:
        if following != GIVE_BACK:
            try_next(rows)

    return OwnStage(do, leads_to=(ready, NEXT, GIVE_BACK), done=done)


def give_back(work: OwnWork) -> None:
    """Return the migration's allocation to the instance, replacing what it holds."""
    assert work.operation.migration_uuid is not None
    with contextlib.suppress(exception.ConsumerNotFound):  # the scheduler's driver claims nothing
        work.placement.move_allocations(
            work.context,
            work.operation.migration_uuid,
            work.instance.uuid,
            fence=int(fence(work.operation).at(FenceStep.GIVE_BACK)),
            replace=True,
            consumer_type="INSTANCE",
        )


def undo(work: OwnWork) -> str:
    """Give the allocation back, and have the destination's cell drop its copy."""
    give_back(work)
    work.others.end(work.context, work.operation)
    return UNDONE


GIVING_BACK: dict[str, OwnStage] = {
    GIVE_BACK: OwnStage(undo, leads_to=(UNDONE,)),
    GIVE_BACK_LOST: OwnStage(undo, leads_to=(UNDONE,), on_enter=lose),
}


def release_source(work: OwnWork) -> None:
    assert work.operation.migration_uuid is not None
    work.placement.release(work.context, {work.operation.migration_uuid: FENCE_FINAL})


def releasing(following: str, *, on_enter: Callable[[Rows], None] = nothing) -> OwnStage:
    def do(work: OwnWork) -> str:
        release_source(work)
        return following

    return OwnStage(do, leads_to=(following,), on_enter=on_enter)


def drop_destination(then: str) -> AgentStage:
    """Return the stage that cleans up the destination; a host that is down reaps later.

    What is left of a guest there needs its room, so it is dropped again until that is done, or
    given up.
    """
    return AgentStage(Verb.DROP, Side.DESTINATION, then=then, given_up=then, down=then)


def schedule(then: str, undo: str = GIVE_BACK) -> SuperStage:
    """Return the stage that waits for the super conductor to select hosts."""
    return SuperStage(then=then, undo=undo)
