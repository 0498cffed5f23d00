"""What moves share: the two ends of a move, alternates, and who holds which allocation when.

While an instance moves its migration holds what it has at the source, the instance what it gets at
the destination (specification, workflow, section 7). What goes wrong gives all back to the
instance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_db import models
from conductor.cell_tasks.operations import rows as stored
from conductor.cell_tasks.operations.flow import (
    UNDONE,
    AgentStage,
    OwnStage,
    Parts,
    Side,
    SuperStage,
)
from conductor.cell_tasks.operations.other_cells import cell_of
from conductor.cell_tasks.operations.power import RUNNING, take_power_state
from conductor.cell_tasks.operations.rows import Rows
from objects.allocation import FENCE_FINAL, AllocationClaim
from objects.instance_order import Verb
from objects.migration import MigrationStatus
from objects.selection import Selection

SCHEDULE = "schedule"
SECURE = "secure_claim"
NEXT = "next_host"
GIVE_BACK = "give_back"
GIVE_BACK_LOST = "give_back_lost"
"""As the former, and nobody knows what became of the guest: its host is down."""
RELEASE = "release_source"


def begin(rows: Rows, arguments: Mapping[str, Any]) -> None:
    """Store a migration from the instance's host to nobody knows where yet.

    ``arguments``: migration_uuid, migration_type, new_flavor (wire form; none: it keeps its own).
    """
    instance = rows.instance
    new_flavor = arguments.get("new_flavor") or instance.flavor
    rows.session.add(
        models.Migration(
            uuid=arguments["migration_uuid"],
            instance_uuid=instance.uuid,
            migration_type=arguments["migration_type"],
            status=MigrationStatus.ACCEPTED,
            source_host=instance.host,
            source_node=instance.node,
            old_flavor=instance.flavor,
            new_flavor=new_flavor,
            facts={},
            request_id=rows.operation.context.get("request_id"),
            project_id=instance.project_id,
            user_id=rows.operation.context.get("user_id"),
            created_at=rows.now,
        )
    )
    rows.session.flush()
    rows.note(
        source={
            "host": instance.host,
            "node": instance.node,
            "attempt": instance.attempt,
            "flavor": instance.flavor,
            "availability_zone": instance.availability_zone,
            "cell_uuid": rows.facts.get("cell_uuid"),
        },
        new_flavor=new_flavor,
        is_on=instance.power_state == RUNNING,
        position=0,
    )


def choose_destination(rows: Rows) -> None:
    """Make the host that is tried now the other end of the move."""
    chosen = stored.selection(rows.facts)
    rows.note(
        destination={
            "host": chosen.service_host,
            "node": chosen.nodename,
            "attempt": rows.instance.attempt + 1,
            "flavor": rows.facts["new_flavor"],
            "availability_zone": chosen.availability_zone,
            "cell_uuid": chosen.cell_uuid,
        }
    )
    assert rows.migration is not None
    rows.migration.dest_host, rows.migration.dest_node = chosen.service_host, chosen.nodename
    rows.status(MigrationStatus.PRE_MIGRATING)


def go_to(rows: Rows, side: Side) -> None:
    """Put the instance, as a new attempt, on one end of the move, with its flavor there.

    In another cell it is on no host that is known here.
    """
    there = dict(rows.facts[side])
    there["attempt"] = max(there["attempt"], rows.instance.attempt + 1)
    rows.note(**{side: there})
    host, node = there["host"], there["node"]
    if cell_of(rows.facts, side) is not None:
        host = node = None
    rows.place(host, node, attempt=there["attempt"])
    rows.instance.flavor = there["flavor"]
    if there.get("availability_zone"):
        rows.instance.availability_zone = there["availability_zone"]


def power_at_source(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the source whether the guest was on."""
    return {"is_on": facts["is_on"]}


def stay_off(_facts: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the source to keep the guest off: it cannot be powered on there."""
    return {"is_on": False}


def kept_off(rows: Rows, answer: Mapping[str, Any]) -> None:
    """Note that the guest is off, though it was on."""
    rows.note(is_kept_off=True)
    take_power_state(rows, answer)


def end_in_error(rows: Rows) -> None:
    """End the migration; the instance is what it was, but for what befell its host or guest."""
    state = "stopped" if rows.facts.get("is_kept_off") else rows.facts["was"]
    rows.instance.vm_state = "error" if rows.facts.get("is_lost") else state
    rows.status(MigrationStatus.ERROR)


def lose(rows: Rows) -> None:
    """Note that the guest may be off on a host that is down."""
    rows.note(is_lost=True)


def claim_next(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
    *,
    ready: str,
    exhausted: str = GIVE_BACK,
) -> str:
    """Claim the alternate after the one that was tried, in place of what the instance holds.

    Returns ``ready`` when it is claimed, ``NEXT`` when it is refused.
    """
    position = operation.facts["position"] + 1
    if position >= len(operation.facts["selections"]):
        return exhausted
    return _claim(parts, context, instance, operation, position, ready=ready)


def _claim(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
    position: int,
    *,
    ready: str,
) -> str:
    chosen = stored.selection({**operation.facts, "position": position})
    if not chosen.allocation_request:  # the scheduler's driver claims nothing
        return ready
    claim = AllocationClaim.from_values(
        consumer_uuid=instance.uuid,
        project_id=instance.project_id,
        user_id=instance.user_id,
        allocations=chosen.allocation_request,
        fence=stored.fence(operation, stored.ALTERNATE + position),
        replace=True,
    )
    (result,) = parts.placement.claim(context, [claim])
    return ready if result.is_claimed else NEXT


def secure(ready: str) -> OwnStage:
    """Return the stage that claims once more what the super conductor said was claimed.

    Who had the move before may have asked a scheduler, too, and its claim may have come later, or
    come yet: from here on what is held is what the cell works with, and late claims are refused.
    """

    def do(
        parts: Parts,
        context: RequestContext,
        instance: models.Instance,
        operation: models.InstanceOperation,
    ) -> str:
        position = operation.facts["position"]
        return _claim(parts, context, instance, operation, position, ready=ready)

    return OwnStage(do, leads_to=(ready, NEXT))


def tried_next(rows: Rows, following: str) -> None:
    """Note that the next alternate is tried, or was refused."""
    if following != GIVE_BACK:
        rows.note(position=rows.facts["position"] + 1)


def next_host(ready: str) -> OwnStage:
    """Return the stage that claims the next alternate."""

    def do(
        parts: Parts,
        context: RequestContext,
        instance: models.Instance,
        operation: models.InstanceOperation,
    ) -> str:
        return claim_next(parts, context, instance, operation, ready=ready)

    return OwnStage(do, leads_to=(ready, NEXT, GIVE_BACK), done=tried_next)


def give_back(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Let the instance hold again what its migration holds, and nothing else."""
    assert operation.migration_uuid is not None
    with contextlib.suppress(exception.ConsumerNotFound):  # the scheduler's driver claims nothing
        parts.placement.move_allocations(
            context,
            operation.migration_uuid,
            instance.uuid,
            fence=stored.fence(operation, stored.GIVE_BACK),
            replace=True,
            consumer_type="INSTANCE",
        )
    return UNDONE


def undo(
    parts: Parts,
    context: RequestContext,
    instance: models.Instance,
    operation: models.InstanceOperation,
) -> str:
    """Give back, and let the cell that it was to go to forget it."""
    give_back(parts, context, instance, operation)
    parts.others.end(context, operation)
    return UNDONE


GIVING_BACK: dict[str, OwnStage] = {
    GIVE_BACK: OwnStage(undo, leads_to=(UNDONE,)),
    GIVE_BACK_LOST: OwnStage(undo, leads_to=(UNDONE,), begun=lose),
}


def release_source(
    parts: Parts,
    context: RequestContext,
    _instance: models.Instance,
    operation: models.InstanceOperation,
) -> None:
    """Free what the migration holds, for good."""
    assert operation.migration_uuid is not None
    parts.placement.release(context, {operation.migration_uuid: FENCE_FINAL})


def releasing(following: str) -> OwnStage:
    """Return the stage that frees the source's allocation."""

    def do(
        parts: Parts,
        context: RequestContext,
        instance: models.Instance,
        operation: models.InstanceOperation,
    ) -> str:
        release_source(parts, context, instance, operation)
        return following

    return OwnStage(do, leads_to=(following,))


def drop_destination(then: str) -> AgentStage:
    """Return the stage that leaves nothing at the destination; one that is down reaps later."""
    return AgentStage(Verb.DROP, Side.DESTINATION, then=then, failed=then, down=then)


def schedule(then: str, failed: str = GIVE_BACK) -> SuperStage:
    """Return the stage in which the super conductor finds hosts."""
    return SuperStage(then=then, failed=failed)


def selected(rows: Rows) -> Selection:
    """Return the host that is tried now."""
    return stored.selection(rows.facts)
