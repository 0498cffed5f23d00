"""Queries on reservations: accepted requests on their way to cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from objects.fence import Fence


class Stage:
    """Stage of a reservation; a stored stage records a decision that is not made again."""

    SCHEDULING = "scheduling"
    HANDING_OVER = "cell_handover"
    WALKING = "walking"
    """Other zones offered hosts, which are tried in turn; see
    ``conductor.super_conductor.zones.walk``.
    """
    STORING_IN_CELL0 = "storing_in_cell0"


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A stored reservation; ``context`` is the plain form of the request's context."""

    reservation_id: str
    stage: str
    fence: Fence
    context: dict[str, Any]
    accepted_at: datetime
    failure: str | None
    verdict: dict[str, Any]


def add_reservations(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Insert reservations: dicts of the columns except stage, failure and verdict."""
    new = {"stage": Stage.SCHEDULING, "failure": None, "verdict": None}
    session.execute(sa.insert(models.Reservation), [{**new, **row} for row in rows])


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
