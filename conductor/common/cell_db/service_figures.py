"""Figures of services' workers, as of their last heartbeats."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from objects.hosts.activity import WorkerFigures

ROWS_MAX = 10_000
"""Maximum number of workers whose figures are returned."""


def store(
    session: Session,
    host: str,
    binary: str,
    worker: int,
    figures: Mapping[str, float],
    *,
    now: datetime,
) -> None:
    """Replace the figures of a worker.

    Another process may insert the first ones first: see ``Database.insert_in_writer``.
    """
    row = session.get(models.ServiceFigures, (host, binary, worker))
    if row is None:
        row = models.ServiceFigures(host=host, binary=binary, worker=worker)
        session.add(row)
    row.figures, row.reported_at = dict(figures), now
    session.flush()


def list_fresh(session: Session, *, now: datetime, seconds: float) -> list[WorkerFigures]:
    """Return what was reported within the last seconds."""
    row = models.ServiceFigures
    query = (
        sa.select(row)
        .where(row.reported_at >= now - timedelta(seconds=seconds))
        .order_by(row.host, row.binary, row.worker)
        .limit(ROWS_MAX)
    )
    return [
        WorkerFigures(each.host, each.binary, each.worker, dict(each.figures), each.reported_at)
        for each in session.scalars(query)
    ]


def remove_stale(session: Session, *, now: datetime, seconds: float) -> None:
    """Remove what was last reported before that; its worker is gone."""
    row = models.ServiceFigures
    session.execute(sa.delete(row).where(row.reported_at < now - timedelta(seconds=seconds)))
