"""Queries on reservations: accepted requests that somebody has to bring to their cells."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db import models


class Stage:
    """How far a reservation is; what is written here was decided and is not decided again."""

    SCHEDULING = "scheduling"
    HANDING_OVER = "handing_over"
    BURYING = "burying"


@dataclasses.dataclass(frozen=True)
class Reservation:
    """A reservation as it was read. ``context`` is the plain form of the request's context."""

    reservation_id: str
    stage: str
    fence: int
    context: dict[str, Any]
    accepted_at: datetime
    failure: str | None
    verdict: dict[str, Any]


def add_reservation(
    session: Session,
    *,
    reservation_id: str,
    project_id: str,
    fence: int,
    context: dict[str, Any],
    accepted_at: datetime,
    lease: dict[str, Any],
) -> None:
    """Store a new one, held by ``lease`` (the columns of a lease)."""
    session.add(
        models.Reservation(
            reservation_id=reservation_id,
            project_id=project_id,
            stage=Stage.SCHEDULING,
            fence=fence,
            context=context,
            accepted_at=accepted_at,
            failure=None,
            verdict=None,
            **lease,
        )
    )
    session.flush()


def find_reservation(session: Session, reservation_id: str) -> Reservation | None:
    """Return a reservation, None when its work is done."""
    row = session.get(models.Reservation, reservation_id, populate_existing=True)
    if row is None:
        return None
    return Reservation(
        reservation_id=row.reservation_id,
        stage=row.stage,
        fence=row.fence,
        context=row.context,
        accepted_at=row.accepted_at,
        failure=row.failure,
        verdict=row.verdict or {},
    )


def exists(session: Session, reservation_id: str) -> bool:
    """Tell whether this id was given away already, whatever became of it."""
    for column in (models.Reservation.reservation_id, models.InstanceMapping.reservation_id):
        if session.scalars(sa.select(column).where(column == reservation_id).limit(1)).first():
            return True
    return False


def delete_if_empty(session: Session, reservation_id: str) -> bool:
    """Remove a reservation that has no build request left; return whether it is gone."""
    left = sa.select(models.BuildRequest.instance_uuid).where(
        models.BuildRequest.reservation_id == reservation_id
    )
    if session.scalars(left.limit(1)).first() is not None:
        return False
    session.execute(
        sa.delete(models.Reservation).where(models.Reservation.reservation_id == reservation_id)
    )
    return True
