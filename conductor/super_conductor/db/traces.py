"""Queries on decision traces: one shared part per reservation, one choice per instance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.insert_missing import insert_missing

Split = tuple[dict[str, Any], Mapping[str, dict[str, Any]]]
"""Shared part of a trace, and instance -> choice."""


def store_trace(
    session: Session,
    reservation_id: str,
    shared: dict[str, Any],
    choices: Mapping[str, dict[str, Any]],
    *,
    now: datetime,
) -> None:
    """Replace the trace of a reservation; only the latest decision is kept."""
    store_traces(session, {reservation_id: (shared, choices)}, now=now)


def store_traces(session: Session, split: Mapping[str, Split], *, now: datetime) -> None:
    """Replace the traces of reservations (id -> shared part, choices) in four statements."""
    trace, choice = models.DecisionTrace, models.InstanceChoice
    for table in (trace, choice):
        session.execute(
            sa.delete(table)
            .where(table.reservation_id.in_(list(split)))
            .execution_options(synchronize_session=False)
        )
    add_traces(session, split, now=now)


def add_traces(session: Session, split: Mapping[str, Split], *, now: datetime) -> None:
    """Insert traces of reservations without an earlier decision, in two statements.

    A row that exists comes from the same transaction, committed without this conductor knowing.
    """
    shared_rows = [
        {"reservation_id": reservation_id, "trace": shared, "stored_at": now}
        for reservation_id, (shared, _choices) in split.items()
    ]
    rows = [
        {"instance_uuid": uuid, "reservation_id": reservation_id, "choice": chosen}
        for reservation_id, (_shared, choices) in split.items()
        for uuid, chosen in choices.items()
    ]
    insert_missing(session, models.DecisionTrace, shared_rows)
    insert_missing(session, models.InstanceChoice, rows)


def find_trace(session: Session, instance_uuid: str) -> dict[str, Any] | None:
    """Return the shared part with this instance's choice; None if there is none."""
    shared = session.scalars(
        sa.select(models.DecisionTrace.trace)
        .join(
            models.InstanceMapping,
            models.InstanceMapping.reservation_id == models.DecisionTrace.reservation_id,
        )
        .where(models.InstanceMapping.instance_uuid == instance_uuid)
    ).one_or_none()
    if shared is None:
        return None
    choice = session.get(models.InstanceChoice, instance_uuid)
    return {**shared, "choices": [] if choice is None else [choice.choice]}


def find_date(session: Session, instance_uuid: str) -> datetime | None:
    """Return when the decision on an instance's create was stored, None if unknown."""
    return session.scalars(
        sa.select(models.DecisionTrace.stored_at)
        .join(
            models.InstanceMapping,
            models.InstanceMapping.reservation_id == models.DecisionTrace.reservation_id,
        )
        .where(models.InstanceMapping.instance_uuid == instance_uuid)
    ).one_or_none()


def delete_choices(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the choices of instances."""
    session.execute(
        sa.delete(models.InstanceChoice).where(
            models.InstanceChoice.instance_uuid.in_(instance_uuids)
        )
    )


def delete_old_traces(session: Session, *, stored_before: datetime, limit: int) -> int:
    """Delete at most ``limit`` old traces with their choices; return the number of traces."""
    trace, choice = models.DecisionTrace, models.InstanceChoice
    reservations = list(
        session.scalars(
            sa.select(trace.reservation_id)
            .where(trace.stored_at <= stored_before)
            .order_by(trace.stored_at)
            .limit(limit)
        )
    )
    session.execute(sa.delete(choice).where(choice.reservation_id.in_(reservations)))
    session.execute(sa.delete(trace).where(trace.reservation_id.in_(reservations)))
    return len(reservations)


def delete_unused_traces(session: Session) -> None:
    """Delete the shared parts of reservations without any mapped instance."""
    used = sa.exists().where(
        models.InstanceMapping.reservation_id == models.DecisionTrace.reservation_id
    )
    session.execute(
        sa.delete(models.DecisionTrace).where(~used).execution_options(synchronize_session=False)
    )
