"""Queries on zone guests: attempts of other zones here, and attempts to refuse."""

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row, insert, insert_missing, update

OWN = ""
"""Origin of attempts that this zone makes in itself, as one among several zones."""


Row = models.ZoneAttempt


@dataclasses.dataclass(frozen=True)
class Guest:
    """An attempt of another zone; see ``models.ZoneAttempt``."""

    instance_uuid: str
    attempt: int
    local_uuid: str | None
    origin: str
    is_cancelled: bool
    created_at: datetime


def add_guests(session: Session, guests: Sequence[Guest]) -> None:
    """Insert attempts that have arrived."""
    insert(session, Row, guests)


def cancel(session: Session, attempts: dict[str, int], *, origin: str, now: datetime) -> None:
    """Cancel these attempts (instance -> number) and all earlier ones, arrived or not."""
    for instance_uuid, attempt in sorted(attempts.items()):
        update(
            session,
            Row,
            Row.instance_uuid == instance_uuid,
            Row.attempt <= attempt,
            is_cancelled=True,
        )
    insert_missing(
        session,
        Row,
        [
            Guest(uuid, attempt, None, origin, is_cancelled=True, created_at=now)
            for uuid, attempt in sorted(attempts.items())
        ],
    )


def list_guests(session: Session, instance_uuids: Collection[str]) -> dict[str, list[Guest]]:
    """Return instance -> its attempts, oldest first."""
    query = (
        sa.select(Row)
        .where(Row.instance_uuid.in_(instance_uuids))
        .order_by(Row.instance_uuid, Row.attempt)
        .execution_options(populate_existing=True)
    )
    found: dict[str, list[Guest]] = {}
    for each in session.scalars(query):
        found.setdefault(each.instance_uuid, []).append(from_row(Guest, each))
    return found


def find_living(session: Session, instance_uuid: str) -> Guest | None:
    """Return the attempt that is not cancelled, None if there is none."""
    guests = list_guests(session, [instance_uuid]).get(instance_uuid, [])
    return next((guest for guest in reversed(guests) if not guest.is_cancelled), None)


def used_local_uuids(session: Session, local_uuids: Collection[str]) -> set[str]:
    """Return those of these UUIDs in use here, by instances or by earlier attempts."""
    taken: set[str] = set()
    for column in (
        models.InstanceMapping.instance_uuid,
        Row.local_uuid,
        models.BuildRequest.instance_uuid,
    ):
        taken.update(session.scalars(sa.select(column).where(column.in_(local_uuids))))
    return taken


def local_uuids_of(session: Session, instance_uuids: Collection[str]) -> list[str]:
    """Return the local UUIDs of the guests among these instances that are not cancelled."""
    query = sa.select(Row.local_uuid).where(
        Row.instance_uuid.in_(instance_uuids),
        Row.is_cancelled.is_(False),
        Row.local_uuid.is_not(None),
    )
    return [str(name) for name in session.scalars(query)]


def by_local_uuid(
    session: Session, local_uuids: Collection[str], *, renamed_only: bool = False
) -> dict[str, Guest]:
    """Return local UUID -> guest; with ``renamed_only``, only those with another UUID."""
    where: list[sa.ColumnElement[bool]] = [Row.local_uuid.in_(local_uuids)]
    if renamed_only:
        where.append(Row.local_uuid != Row.instance_uuid)
    return {
        str(each.local_uuid): from_row(Guest, each)
        for each in session.scalars(sa.select(Row).where(*where))
    }


def delete_old(session: Session, *, before: datetime, limit: int) -> int:
    """Delete at most ``limit`` old cancelled attempts; return how many were deleted."""
    mapping = models.InstanceMapping
    keys = session.execute(
        sa.select(Row.instance_uuid, Row.attempt)
        .where(
            Row.is_cancelled.is_(True),
            Row.created_at <= before,
            ~sa.exists().where(mapping.instance_uuid == Row.local_uuid),
        )
        .order_by(Row.created_at)
        .limit(limit)
    ).all()
    for instance_uuid, attempt in keys:
        delete(session, Row, Row.instance_uuid == instance_uuid, Row.attempt == attempt)
    return len(keys)
