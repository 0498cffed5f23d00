"""Queries on walks: the progress of instances through hosts that several zones offered."""

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import from_row, insert_missing, update


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
class Entry:
    """A host that a zone offered."""

    path: tuple[str, ...]
    host_id: str


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failed attempt; ``is_lost``: its zone has never got the order.

    ``unreached_at`` (ISO 8601): its zone could not be reached then, or the order was lost.
    """

    zone: str | None
    host_id: str | None
    attempt: int
    reason: str
    is_lost: bool = False
    unreached_at: str | None = None


@dataclasses.dataclass(frozen=True)
class StoredWalk:
    """The columns of a walk; see ``models.ZoneWalk``."""

    instance_uuid: str
    reservation_id: str
    start: int
    step: int
    attempt: int
    state: str
    path: str | None
    host_id: str | None
    since: datetime
    heard_at: datetime
    failures: list[Failure]


@dataclasses.dataclass(frozen=True)
class Walk(StoredWalk):
    """A stored walk; ``is_deleting``: the user has deleted the instance."""

    is_deleting: bool


@dataclasses.dataclass(frozen=True)
class Offered:
    """What zones have offered for a reservation: a list of hosts for each search, best first.

    ``silent`` are the paths of zones that have not answered yet.
    """

    lists: list[list[Entry]]
    silent: list[str] = dataclasses.field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        """All hosts of all searches."""
        return [entry for each in self.lists for entry in each]

    def entry_at(self, start: int, step: int) -> Entry | None:
        """Return the host for a step of a walk that begins each list at ``start``.

        None after the last one of the last list.
        """
        for each in self.lists:
            if step < len(each):
                return each[(start + step) % len(each)]
            step -= len(each)
        return None


@dataclasses.dataclass(frozen=True)
class _Row:
    reservation_id: str
    entries: list[Any]
    silent: list[str]


def _row(reservation_id: str, offered: Offered) -> _Row:
    plain = [[dataclasses.asdict(entry) for entry in each] for each in offered.lists]
    return _Row(reservation_id, plain, offered.silent)


def add_walks(
    session: Session,
    reservation_id: str,
    entries: Sequence[Entry],
    instance_uuids: Sequence[str],
    *,
    silent: Sequence[str],
    together: bool,
    now: datetime,
) -> None:
    """Start walks: the first instance at the best entry, the others at the entries after it.

    With ``together`` all of them start at the best entry. ``silent`` are the paths of zones that
    did not answer the search.
    """
    offered = Offered([list(entries)], list(silent))
    insert_missing(session, models.ZoneEntries, [_row(reservation_id, offered)])
    walks = [
        StoredWalk(
            uuid, reservation_id, start, step=0, attempt=0, state=WalkState.NEXT, path=None,
            host_id=None, since=now, heard_at=now, failures=[],
        )
        for uuid, start in zip(
            instance_uuids,
            starts(len(entries), len(instance_uuids), together=together),
            strict=True,
        )
    ]  # fmt: skip
    insert_missing(session, models.ZoneWalk, walks)


def starts(entries: int, instances: int, *, together: bool) -> list[int]:
    """Return for each instance the index of the entry that its walk starts at."""
    return [0 if together else index % entries for index in range(instances)]


def find_offered(session: Session, reservation_id: str) -> Offered:
    """Return what zones have offered for a reservation; nothing if it has no walks."""
    row = session.get(models.ZoneEntries, reservation_id)
    if row is None:
        return Offered([])
    lists = [[Entry(tuple(one["path"]), one["host_id"]) for one in each] for each in row.entries]
    return Offered(lists, list(row.silent))


def update_offered(session: Session, reservation_id: str, offered: Offered) -> None:
    """Store what zones have offered by now, and which are silent."""
    row = _row(reservation_id, offered)
    update(
        session,
        models.ZoneEntries,
        models.ZoneEntries.reservation_id == reservation_id,
        entries=row.entries,
        silent=row.silent,
    )


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


_CHANGING = ("step", "attempt", "state", "path", "host_id", "since", "heard_at")


def update_walk(session: Session, walk: Walk) -> None:
    """Store the progress of a walk."""
    values = {name: getattr(walk, name) for name in _CHANGING}
    update(
        session,
        models.ZoneWalk,
        models.ZoneWalk.instance_uuid == walk.instance_uuid,
        **values,
        failures=[dataclasses.asdict(one) for one in walk.failures],
    )


def _to_walk(row: models.ZoneWalk, is_deleting: bool) -> Walk:
    failures = [Failure(**each) for each in row.failures]
    return from_row(Walk, row, failures=failures, is_deleting=is_deleting)
