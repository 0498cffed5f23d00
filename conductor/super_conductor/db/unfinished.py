"""Sources of unfinished work in the API database."""

import sqlalchemy as sa

from conductor.common.unfinished_work import Source, source
from conductor.super_conductor.db import models
from objects.allocations import fence
from objects.claims.resource_claim import ClaimState


def _cleanups() -> Source:
    """Return the source of cleanups, dated by the user's delete or else by the request."""
    mapping, reservation = models.InstanceMapping, models.Reservation
    made = source(
        models.Cleanup,
        stage=models.Cleanup.task,
        instance_uuid=models.Cleanup.instance_uuid,
        since=sa.func.coalesce(mapping.deleted_at, reservation.accepted_at),
    )
    rows = made.rows.outerjoin(
        mapping, mapping.instance_uuid == models.Cleanup.instance_uuid
    ).outerjoin(reservation, reservation.reservation_id == mapping.reservation_id)
    return Source(made.table, rows)


def _claims() -> Source:
    """Return the source of claims that are being scheduled or released."""
    row = models.Claim
    made = source(
        row, operation=row.kind, stage=row.state, instance_uuid=row.uuid, since=row.created_at,
        tries=row.takes, failure=row.fault,
    )  # fmt: skip
    is_unfinished = row.state.in_((ClaimState.PENDING, ClaimState.DELETING))
    return Source(made.table, made.rows.where(is_unfinished))


SOURCES = (
    source(
        models.Reservation,
        stage=models.Reservation.stage,
        reservation_id=models.Reservation.reservation_id,
        since=models.Reservation.accepted_at,
        tries=fence.attempt(models.Reservation.fence),
        failure=models.Reservation.failure,
    ),
    source(
        models.Move,
        operation=models.Move.operation,
        stage=sa.literal("scheduling"),
        instance_uuid=models.Move.instance_uuid,
        migration_uuid=models.Move.migration_uuid,
        since=models.Move.accepted_at,
        tries=models.Move.takes,
    ),
    source(
        models.DeferredOperation,
        operation=models.DeferredOperation.operation,
        stage=sa.literal("waiting for its cell"),
        instance_uuid=models.DeferredOperation.instance_uuid,
        since=models.DeferredOperation.accepted_at,
        tries=models.DeferredOperation.tries,
    ),
    _claims(),
    _cleanups(),
)
