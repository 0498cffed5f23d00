"""Queries on decision traces of creates and moves.

A create's trace is one shared part per reservation and one choice per instance; of moves, each
server has its latest ones.
"""

import dataclasses
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, insert_missing
from objects.traces.decision_trace import Plain, PlainTrace

_NEWEST_FIRST = (models.MoveTrace.stored_at.desc(), models.MoveTrace.migration_uuid)

_WALK = "walk"
"""Key of an instance's walk in its stored choice."""


@dataclasses.dataclass(frozen=True, slots=True)
class SplitTrace:
    """A decision trace as JSON: the shared part, and instance -> its choice."""

    shared: PlainTrace
    choices: Mapping[str, Any]

    def whole(self) -> PlainTrace:
        """Return the trace in one piece."""
        return {**self.shared, "choices": list(self.choices.values())}


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


@dataclasses.dataclass(frozen=True, slots=True)
class _SharedPart:
    reservation_id: str
    trace: PlainTrace
    stored_at: datetime


@dataclasses.dataclass(frozen=True, slots=True)
class _Choice:
    instance_uuid: str
    reservation_id: str
    choice: Plain


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


def add_search(session: Session, reservation_id: str, later: SplitTrace) -> None:
    """Add the zones of a later search, and its hosts to the choices of its instances."""
    row = session.get(models.DecisionTrace, reservation_id)
    if row is not None:
        zones = [*row.trace.get("zones", []), *later.shared.get("zones", [])]
        row.trace = {**row.trace, "zones": zones}
    for instance_uuid, choice in later.choices.items():
        stored = session.get(models.InstanceChoice, instance_uuid)
        if stored is not None:
            best = {name: choice[name] for name in ("host", "weight", "shares")}
            others = [*stored.choice.get("runners_up", []), best, *choice["runners_up"]]
            stored.choice = {**stored.choice, "runners_up": others}


def find_trace(session: Session, instance_uuid: str) -> PlainTrace | None:
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
    if choice is None:
        return {**shared, "choices": []}
    shown = {name: value for name, value in choice.choice.items() if name != _WALK}
    return {**shared, "choices": [shown]}


def store_walk(session: Session, instance_uuid: str, walk: Plain) -> None:
    """Store how an instance's walk ended beside its choice, if that is stored."""
    row = session.get(models.InstanceChoice, instance_uuid)
    if row is not None:
        row.choice = {**row.choice, _WALK: walk}


def find_walk(session: Session, instance_uuid: str) -> Plain | None:
    """Return how an instance's walk ended; None if it had none, or it is not known any more."""
    row = session.get(models.InstanceChoice, instance_uuid)
    return None if row is None else row.choice.get(_WALK)


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
    delete(session, models.InstanceChoice, models.InstanceChoice.instance_uuid.in_(instance_uuids))


def delete_old_traces(session: Session, *, before: datetime, limit: int) -> int:
    """Delete at most ``limit`` old traces with their choices; return the number of traces."""
    trace, choice = models.DecisionTrace, models.InstanceChoice
    reservations = list(
        session.scalars(
            sa.select(trace.reservation_id)
            .where(trace.stored_at <= before)
            .order_by(trace.stored_at)
            .limit(limit)
        )
    )
    delete(session, choice, choice.reservation_id.in_(reservations))
    delete(session, trace, trace.reservation_id.in_(reservations))
    return len(reservations)


def delete_unused_traces(session: Session) -> None:
    """Delete the shared parts of reservations without any mapped instance."""
    used = sa.exists().where(
        models.InstanceMapping.reservation_id == models.DecisionTrace.reservation_id
    )
    session.execute(
        sa.delete(models.DecisionTrace).where(~used).execution_options(synchronize_session=False)
    )


def store_move_trace(
    session: Session, decided: MoveTrace, trace: PlainTrace, *, keep_max: int
) -> None:
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
    delete(session, models.MoveTrace, of_server, models.MoveTrace.migration_uuid.not_in(kept))


def list_move_traces(session: Session, instance_uuid: str) -> list[MoveTrace]:
    """Return the decisions on a server's moves, newest first."""
    columns = [getattr(models.MoveTrace, field.name) for field in dataclasses.fields(MoveTrace)]
    rows = session.execute(
        sa.select(*columns)
        .where(models.MoveTrace.instance_uuid == instance_uuid)
        .order_by(*_NEWEST_FIRST)
    )
    return [MoveTrace(*row) for row in rows]


def find_move_trace(session: Session, migration_uuid: str) -> PlainTrace | None:
    """Return the trace of a move; None if it is no longer kept."""
    row = session.get(models.MoveTrace, migration_uuid)
    return None if row is None else row.trace


def delete_move_traces(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the traces of servers' moves."""
    delete(session, models.MoveTrace, models.MoveTrace.instance_uuid.in_(instance_uuids))


def delete_old_move_traces(session: Session, *, before: datetime, limit: int) -> int:
    """Delete at most ``limit`` traces stored before a time; return how many were deleted."""
    moves = list(
        session.scalars(
            sa.select(models.MoveTrace.migration_uuid)
            .where(models.MoveTrace.stored_at <= before)
            .order_by(models.MoveTrace.stored_at)
            .limit(limit)
        )
    )
    delete(session, models.MoveTrace, models.MoveTrace.migration_uuid.in_(moves))
    return len(moves)
