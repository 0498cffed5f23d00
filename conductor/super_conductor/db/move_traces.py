"""Queries on decision traces of moves: the latest ones of each server.

The trace of a create belongs to its reservation (``conductor.super_conductor.db.traces``), that of
a move to
the move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models

_NEWEST_FIRST = (models.MoveTrace.stored_at.desc(), models.MoveTrace.migration_uuid)


@dataclasses.dataclass(frozen=True)
class MoveTrace:
    """Summary of a move's decision; ``sentence`` says why no ``host`` was found."""

    migration_uuid: str
    instance_uuid: str
    operation: str
    request_id: str | None
    host: str | None
    sentence: str | None
    stored_at: datetime


def store(session: Session, decided: MoveTrace, trace: dict[str, Any], *, keep_max: int) -> None:
    """Store or replace the trace of a move; keep the latest ``keep_max`` of its server."""
    session.merge(models.MoveTrace(**dataclasses.asdict(decided), trace=trace))
    session.flush()
    of_server = models.MoveTrace.instance_uuid == decided.instance_uuid
    kept = list(
        session.scalars(
            sa.select(models.MoveTrace.migration_uuid)
            .where(of_server)
            .order_by(*_NEWEST_FIRST)
            .limit(keep_max)
        )
    )
    session.execute(
        sa.delete(models.MoveTrace).where(of_server, models.MoveTrace.migration_uuid.not_in(kept))
    )


def list_of(session: Session, instance_uuid: str) -> list[MoveTrace]:
    """Return the decisions on a server's moves, newest first."""
    columns = [getattr(models.MoveTrace, field.name) for field in dataclasses.fields(MoveTrace)]
    rows = session.execute(
        sa.select(*columns)
        .where(models.MoveTrace.instance_uuid == instance_uuid)
        .order_by(*_NEWEST_FIRST)
    )
    return [MoveTrace(*row) for row in rows]


def find_trace(session: Session, migration_uuid: str) -> dict[str, Any] | None:
    """Return the trace of a move; None if it is no longer kept."""
    row = session.get(models.MoveTrace, migration_uuid)
    return None if row is None else row.trace


def delete_of(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the traces of servers' moves."""
    session.execute(
        sa.delete(models.MoveTrace).where(models.MoveTrace.instance_uuid.in_(instance_uuids))
    )


def delete_old(session: Session, *, stored_before: datetime, limit: int) -> int:
    """Delete at most ``limit`` traces stored before a time; return how many were deleted."""
    moves = list(
        session.scalars(
            sa.select(models.MoveTrace.migration_uuid)
            .where(models.MoveTrace.stored_at <= stored_before)
            .order_by(models.MoveTrace.stored_at)
            .limit(limit)
        )
    )
    session.execute(sa.delete(models.MoveTrace).where(models.MoveTrace.migration_uuid.in_(moves)))
    return len(moves)
