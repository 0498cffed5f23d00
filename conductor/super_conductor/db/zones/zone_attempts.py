"""Queries on delegated attempts: builds here for other zones, and attempts to refuse."""

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row, insert, insert_missing, update
from objects.images.image_ticket import PlainTicket

OWN = ""
"""Origin and parent of the attempts that this zone makes on its own hosts."""
UNNAMED = "?"
"""A parent whose messages are not signed. It passes for any parent, as signatures are not required
then; so its attempts stay its own when it begins to sign."""
PARENT_LENGTH_MAX = models.ZONE_PATH_LENGTH


Row = models.ZoneAttempt


@dataclasses.dataclass(frozen=True)
class DelegatedAttempt:
    """An attempt of another zone; see ``models.ZoneAttempt``.

    ``parent`` is the parent zone that sent it: see ``conductor.super_conductor.zones.parents``.
    """

    instance_uuid: str
    attempt: int
    local_uuid: str | None
    origin: str
    is_cancelled: bool
    created_at: datetime
    parent: str = OWN
    image_ticket: PlainTicket | None = None


def parent_of(context: RequestContext) -> str:
    """Return the parent zone that a request came from."""
    return context.parent_zone or OWN


def is_same_parent(one: str, other: str) -> bool:
    """Return whether two names are of the same parent, or both of none."""
    ours, theirs = one.split("/"), other.split("/")
    return len(ours) == len(theirs) and all(
        own == their or (UNNAMED in (own, their) and OWN not in (own, their))
        for own, their in zip(ours, theirs, strict=True)
    )


def add_delegated(session: Session, attempts: Sequence[DelegatedAttempt]) -> None:
    """Insert attempts that have arrived."""
    insert(session, Row, attempts)


def cancel(session: Session, attempts: dict[str, int], *, parent: str, now: datetime) -> None:
    """Cancel a parent's attempts (instance -> number) and all earlier ones, arrived or not."""
    known = list_delegated(session, attempts, parent)
    for instance_uuid, attempt in sorted(attempts.items()):
        update(
            session,
            Row,
            Row.instance_uuid == instance_uuid,
            Row.attempt <= attempt,
            Row.parent.in_(
                {parent, *(delegated.parent for delegated in known.get(instance_uuid, ()))}
            ),
            is_cancelled=True,
        )
    insert_missing(
        session,
        Row,
        [
            DelegatedAttempt(
                uuid, attempt, None, OWN, is_cancelled=True, created_at=now, parent=parent
            )
            for uuid, attempt in sorted(attempts.items())
            if attempt not in {delegated.attempt for delegated in known.get(uuid, ())}
        ],
    )


def list_delegated(
    session: Session, instance_uuids: Collection[str], parent: str
) -> dict[str, list[DelegatedAttempt]]:
    """Return instance -> a parent's attempts at it, oldest first."""
    found: dict[str, list[DelegatedAttempt]] = {}
    for delegated in _list_all(session, instance_uuids):
        if is_same_parent(delegated.parent, parent):
            found.setdefault(delegated.instance_uuid, []).append(delegated)
    return found


def of_others(session: Session, instance_uuids: Collection[str], parent: str) -> set[str]:
    """Return those of these instances that only other parents have sent."""
    sent = {delegated.instance_uuid for delegated in _list_all(session, instance_uuids)}
    return sent - list_delegated(session, instance_uuids, parent).keys()


def _list_all(session: Session, instance_uuids: Collection[str]) -> list[DelegatedAttempt]:
    query = (
        sa.select(Row)
        .where(Row.instance_uuid.in_(instance_uuids))
        .order_by(Row.instance_uuid, Row.attempt)
        .execution_options(populate_existing=True)
    )
    return [from_row(DelegatedAttempt, each) for each in session.scalars(query)]


def find_living(session: Session, instance_uuid: str, parent: str) -> DelegatedAttempt | None:
    """Return a parent's attempt that is not cancelled, None if there is none."""
    attempts = list_delegated(session, [instance_uuid], parent).get(instance_uuid, [])
    return next((delegated for delegated in reversed(attempts) if not delegated.is_cancelled), None)


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
    """Return the local UUIDs of those of these instances whose attempts are not cancelled."""
    query = sa.select(Row.local_uuid).where(
        Row.instance_uuid.in_(instance_uuids),
        Row.is_cancelled.is_(False),
        Row.local_uuid.is_not(None),
    )
    return [str(name) for name in session.scalars(query)]


def by_local_uuid(
    session: Session, local_uuids: Collection[str], *, renamed_only: bool = False
) -> dict[str, DelegatedAttempt]:
    """Return local UUID -> attempt; with ``renamed_only``, only those with another UUID."""
    where: list[sa.ColumnElement[bool]] = [Row.local_uuid.in_(local_uuids)]
    if renamed_only:
        where.append(Row.local_uuid != Row.instance_uuid)
    return {
        str(each.local_uuid): from_row(DelegatedAttempt, each)
        for each in session.scalars(sa.select(Row).where(*where))
    }


def delete_old(session: Session, *, before: datetime, limit: int) -> int:
    """Delete at most ``limit`` old cancelled attempts; return how many were deleted."""
    mapping = models.InstanceMapping
    keys = session.execute(
        sa.select(Row.instance_uuid, Row.attempt, Row.parent)
        .where(
            Row.is_cancelled.is_(True),
            Row.created_at <= before,
            ~sa.exists().where(mapping.instance_uuid == Row.local_uuid),
        )
        .order_by(Row.created_at)
        .limit(limit)
    ).all()
    for instance_uuid, attempt, parent in keys:
        delete(
            session,
            Row,
            Row.instance_uuid == instance_uuid,
            Row.attempt == attempt,
            Row.parent == parent,
        )
    return len(keys)
