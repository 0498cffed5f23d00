"""Queries on reservations: accepted requests on their way to cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.common.leases import Lease
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import insert
from objects.allocations.fence import FIRST_FENCE, Fence


class Stage:
    """Stage of a reservation; a stored stage records a decision that is not made again."""

    SCHEDULING = "scheduling"
    CELL_HANDOVER = "cell_handover"
    WALKING = "walking"
    """Other zones offered hosts, which are tried in turn; see
    ``conductor.super_conductor.zones.walk``.
    """
    STORING_IN_CELL0 = "storing_in_cell0"


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A stored reservation; ``verdict`` is why it was given up: ``message`` and ``details``."""

    reservation_id: str
    stage: str
    fence: Fence
    context: RequestContext
    accepted_at: datetime
    failure: str | None
    verdict: dict[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class NewReservation:
    """A reservation to insert, under a lease."""

    reservation_id: str
    project_id: str
    context: RequestContext
    accepted_at: datetime
    lease_owner: str | None
    lease_expires_at: float
    stage: str = Stage.SCHEDULING
    fence: int = int(FIRST_FENCE)

    @classmethod
    def under(
        cls, lease: Lease, context: RequestContext, *, project_id: str, accepted_at: datetime
    ) -> NewReservation:
        """Return the reservation whose ID is the lease's key."""
        return cls(lease.key, project_id, context, accepted_at, lease.owner, lease.expires_at)


def add_reservations(session: Session, rows: Sequence[NewReservation]) -> None:
    """Insert reservations."""
    insert(session, models.Reservation, rows)


def find_reservation(session: Session, reservation_id: str) -> Reservation | None:
    """Return a reservation, None if it is complete."""
    return find_reservations(session, [reservation_id]).get(reservation_id)


def find_reservations(session: Session, reservation_ids: Collection[str]) -> dict[str, Reservation]:
    """Return those of these reservations that are not complete, by id."""
    row = models.Reservation
    query = sa.select(
        row.reservation_id, row.stage, row.fence, row.context, row.accepted_at, row.failure,
        row.verdict,
    ).where(row.reservation_id.in_(reservation_ids))  # fmt: skip
    return {
        found.reservation_id: Reservation(
            **{
                **found._mapping,
                "fence": Fence.from_int(found.fence),
                "verdict": found.verdict or {},
            }
        )
        for found in session.execute(query)
    }


def exists(session: Session, reservation_id: str) -> bool:
    """Return whether this reservation id was ever used."""
    for column in (models.Reservation.reservation_id, models.InstanceMapping.reservation_id):
        if session.scalars(sa.select(column).where(column == reservation_id).limit(1)).first():
            return True
    return False


def delete_if_empty(session: Session, reservation_id: str) -> bool:
    """Remove a reservation that has no build request left; return whether it is gone."""
    return bool(delete_empty(session, [reservation_id]))


def delete_empty(session: Session, reservation_ids: Collection[str]) -> set[str]:
    """Delete those of these reservations without build requests; return their ids."""
    row = models.BuildRequest.reservation_id
    left = set(session.scalars(sa.select(row).where(row.in_(reservation_ids)).distinct()))
    gone = set(reservation_ids) - left
    if gone:
        session.execute(
            sa.delete(models.Reservation)
            .where(models.Reservation.reservation_id.in_(gone))
            .execution_options(synchronize_session=False)
        )
    return gone
