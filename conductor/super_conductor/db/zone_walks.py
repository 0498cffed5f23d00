"""Queries on walks: the progress of instances through hosts that several zones offered."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.insert_missing import insert_missing


class WalkState:
    """State of the current attempt."""

    NEXT = "next"
    """No attempt is running: ask the next entry, or give up at the end."""
    ASKED = "asked"
    """Its zone was or was about to be asked; whether the zone knows is unknown."""
    WATCHED = "watched"
    """Its zone has accepted it and is building."""
    CANCELLING = "cancelling"
    """It is being undone; the zone has not confirmed yet that nothing is left of it."""
    UNKNOWN = "unknown"
    """Its zone was silent for too long: the instance may be there, so no other host is tried."""


@dataclasses.dataclass(frozen=True)
class Walk:
    """A stored walk; ``is_deleting``: the user has deleted the instance."""

    instance_uuid: str
    start: int
    step: int
    attempt: int
    state: str
    path: str | None
    host_id: str | None
    since: datetime
    heard_at: datetime
    failures: list[dict[str, Any]]
    is_deleting: bool


def add_walks(
    session: Session,
    reservation_id: str,
    entries: Sequence[dict[str, Any]],
    instance_uuids: Sequence[str],
    *,
    together: bool,
    now: datetime,
) -> None:
    """Start walks: the first instance at the best entry, the others at the entries after it.

    With ``together`` all of them start at the best entry.
    """
    insert_missing(
        session, models.ZoneEntries, [{"reservation_id": reservation_id, "entries": list(entries)}]
    )
    rows: list[dict[str, Any]] = [
        {
            "instance_uuid": uuid,
            "reservation_id": reservation_id,
            "start": start,
            "step": 0,
            "attempt": 0,
            "state": WalkState.NEXT,
            "path": None,
            "host_id": None,
            "since": now,
            "heard_at": now,
            "failures": [],
        }
        for uuid, start in zip(
            instance_uuids,
            starts(len(entries), len(instance_uuids), together=together),
            strict=True,
        )
    ]
    insert_missing(session, models.ZoneWalk, rows)


def starts(entries: int, instances: int, *, together: bool) -> list[int]:
    """Return for each instance the index of the entry that its walk starts at."""
    return [0 if together else index % entries for index in range(instances)]


def find_entries(session: Session, reservation_id: str) -> list[dict[str, Any]]:
    """Return the entries that zones offered for a reservation, best first."""
    row = session.get(models.ZoneEntries, reservation_id)
    return [] if row is None else row.entries


def list_walks(session: Session, reservation_id: str) -> list[Walk]:
    """Return the unfinished walks of a reservation, in request order."""
    row = models.ZoneWalk
    query = (
        sa.select(row, models.BuildRequest.is_deleting)
        .join(models.BuildRequest, models.BuildRequest.instance_uuid == row.instance_uuid)
        .where(row.reservation_id == reservation_id)
        .order_by(models.BuildRequest.launch_index)
        .execution_options(populate_existing=True)
    )
    return [_to_walk(found, is_deleting) for found, is_deleting in session.execute(query)]


@dataclasses.dataclass(frozen=True)
class Attempt:
    """The current attempt for an instance: a host in a zone, and its state."""

    path: str
    host_id: str
    state: str


def list_attempts(session: Session, instance_uuids: Collection[str]) -> list[Attempt]:
    """Return the current attempts for these instances, unordered."""
    row = models.ZoneWalk
    query = sa.select(row.path, row.host_id, row.state).where(
        row.instance_uuid.in_(instance_uuids), row.path.is_not(None)
    )
    return [
        Attempt(str(path), str(host_id), state) for path, host_id, state in session.execute(query)
    ]


def update_walk(session: Session, instance_uuid: str, values: dict[str, Any]) -> None:
    """Update columns of a walk."""
    session.execute(
        sa.update(models.ZoneWalk)
        .where(models.ZoneWalk.instance_uuid == instance_uuid)
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def _to_walk(row: models.ZoneWalk, is_deleting: bool) -> Walk:
    names = [field.name for field in dataclasses.fields(Walk) if field.name != "is_deleting"]
    return Walk(**{name: getattr(row, name) for name in names}, is_deleting=is_deleting)
