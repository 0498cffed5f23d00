"""Queries on decision traces: one shared part per reservation, one choice per instance."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.inserts import insert_missing


@dataclasses.dataclass(frozen=True, slots=True)
class SplitTrace:
    """A decision trace as JSON: the shared part, and instance -> its choice."""

    shared: dict[str, Any]
    choices: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class _SharedPart:
    reservation_id: str
    trace: dict[str, Any]
    stored_at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class _Choice:
    instance_uuid: str
    reservation_id: str
    choice: dict[str, Any]


def store_trace(session: Session, reservation_id: str, trace: SplitTrace, *, now: datetime) -> None:
    """Replace the trace of a reservation; only the latest decision is kept."""
    for table in (models.DecisionTrace, models.InstanceChoice):
        session.execute(
            sa.delete(table)
            .where(table.reservation_id == reservation_id)
            .execution_options(synchronize_session=False)
        )
    add_traces(session, {reservation_id: trace}, now=now)


def add_traces(session: Session, traces: Mapping[str, SplitTrace], *, now: datetime) -> None:
    """Insert traces of reservations (by ID) without an earlier decision, in two statements.

    A row that exists comes from the same transaction, committed without this conductor knowing.
    """
    shared_rows = [
        _SharedPart(reservation_id, trace.shared, now) for reservation_id, trace in traces.items()
    ]
    rows = [
        _Choice(uuid, reservation_id, chosen)
        for reservation_id, trace in traces.items()
        for uuid, chosen in trace.choices.items()
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
