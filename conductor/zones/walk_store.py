"""The walks of one reservation in the API database, read and changed under its lease."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from conductor.api_db import build_requests, cleanups, zone_walks
from conductor.api_db.reservations import Reservation
from conductor.api_db.zone_walks import Walk
from conductor.leases import Lease
from conductor.moments import moment
from conductor.tasks.base import LeaseLost, Parts
from conductor.zones import paths
from conductor.zones.paths import Path

T = TypeVar("T")

Change = tuple[Walk, dict[str, Any]]
"""A walk, and the columns of it that change."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A host that a zone offered."""

    path: Path
    host_id: str


class WalkStore:
    """One conductor's hold of them. Each write raises LeaseLost when another one has it by now."""

    def __init__(self, parts: Parts, lease: Lease, reservation: Reservation) -> None:
        self._parts = parts
        self._lease = lease
        self._reservation = reservation
        self.entries = [
            Entry(tuple(one["path"]), one["host_id"])
            for one in self.read(lambda session: zone_walks.find_entries(session, lease.key))
        ]
        """What the zones offered, the best first."""

    @property
    def key(self) -> str:
        """The reservation's name, for logs."""
        return self._lease.key

    @property
    def now(self) -> datetime:
        return moment(self._parts.now())

    def entry_of(self, one: Walk) -> Entry | None:
        """Return the entry whose turn it is; None at the end of the list."""
        if one.step >= len(self.entries):
            return None
        return self.entries[(one.start + one.step) % len(self.entries)]

    def walks(self) -> list[Walk]:
        """Return those that have not ended, in the order of the request."""
        return self.read(self.list_in)

    def by_place(self, states: Iterable[str]) -> dict[Path, list[Walk]]:
        """Return the walks in some states by the zone of their attempt."""
        found: dict[Path, list[Walk]] = {}
        for one in self.walks():
            if one.state in states:
                found.setdefault(paths.from_text(str(one.path)), []).append(one)
        return found

    def read(self, query: Callable[[Session], T]) -> T:
        with self._parts.database.reader() as session:
            return query(session)

    def write(self, fn: Callable[[Session], T]) -> T:
        """Change something, users' deletes kept out."""

        def write(session: Session) -> T:
            build_requests.lock(session, [self._lease.key])
            if not self._parts.reservations.renew(session, self._lease):
                raise LeaseLost(self._lease.key)
            return fn(session)

        return self._parts.database.run_in_writer(write)

    def write_changes(self, changed: Sequence[Change]) -> None:
        if not changed:
            return

        def write(session: Session) -> None:
            for one, values in changed:
                zone_walks.update_walk(session, one.instance_uuid, values)

        self.write(write)

    # Within a transaction

    def list_in(self, session: Session) -> list[Walk]:
        return zone_walks.list_walks(session, self._lease.key)

    def pending_in(self, session: Session) -> list[build_requests.Pending]:
        return build_requests.list_pending(session, self._lease.key)

    def delete_where_it_is(self, session: Session, one: Walk) -> None:
        """Have the zone told that may have it."""
        if one.path is not None:
            cleanups.add_zone_delete(
                session, one.instance_uuid, one.path, self._reservation.context
            )
