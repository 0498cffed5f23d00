"""Access to the zone walks of one reservation in the API database, under its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.orm import Session

from conductor.common.clock import moment
from conductor.common.leased_work import LeaseLost
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import build_requests, cleanups
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind
from conductor.super_conductor.db.reservations import Reservation
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.db.zones.zone_walks import Entry, Offered, Walk, WalkState
from conductor.super_conductor.peers import Environment
from conductor.super_conductor.zones import paths, walk_changes
from conductor.super_conductor.zones.paths import Path

T = TypeVar("T")


class WalkStore:
    """The walks of one leased reservation. Writes raise LeaseLost after another took it over."""

    def __init__(
        self, env: Environment, leases: Leases, lease: Lease, reservation: Reservation
    ) -> None:
        self._env = env
        self._leases = leases
        self._lease = lease
        self._reservation = reservation
        self.offered = self.read(lambda session: zone_walks.find_offered(session, lease.key))
        """The offered hosts, and zones that have not answered."""

    @property
    def key(self) -> str:
        """Reservation ID, for logs."""
        return self._lease.key

    @property
    def now(self) -> datetime:
        return moment(self._env.now())

    def entry_of(self, one: Walk) -> Entry | None:
        """Return the current candidate of a walk; None at the end of its lists."""
        return self.offered.entry_at(one.start, one.step)

    def open_entries(self, one: Walk) -> list[Entry]:
        """Return the candidates of a walk at the end of its list that no order has reached."""
        if self.entry_of(one) is not None:
            return []
        return walk_changes.open_entries(one, self.offered.entries, self.now, self.absence_limit)

    @property
    def absence_limit(self) -> timedelta:
        """For how long silent zones are waited for."""
        return timedelta(seconds=self._env.conf.zones.absence_wait_seconds)

    def is_in_wait(self, one: Walk) -> bool:
        """Return whether a walk is at the end of its lists, and waits for silent zones.

        It does from the failure of its last attempt on.
        """
        if one.state != WalkState.NEXT or one.is_deleting or self.entry_of(one) is not None:
            return False
        return bool(self.offered.silent) and self.now < one.since + self.absence_limit

    def update_offered(self, offered: Offered) -> None:
        """Store what zones have offered by now."""
        self.write(lambda session: zone_walks.update_offered(session, self.key, offered))
        self.offered = offered

    def walks(self) -> list[Walk]:
        """Return the walks that have not ended, in the order of the request."""
        return self.read(self.list_in)

    def by_place(self, states: Iterable[str]) -> dict[Path, list[Walk]]:
        """Return the walks in the given states, by the zone of their attempt."""
        found: dict[Path, list[Walk]] = {}
        for one in self.walks():
            if one.state in states:
                found.setdefault(paths.from_text(str(one.path)), []).append(one)
        return found

    def read(self, query: Callable[[Session], T]) -> T:
        return self._env.database.read(query)

    def write(self, fn: Callable[[Session], T]) -> T:
        """Run a transaction that renews the lease and excludes concurrent user deletes."""

        def write(session: Session) -> T:
            build_requests.lock(session, [self._lease.key])
            if not self._leases.renew(session, self._lease):
                raise LeaseLost(self._lease.key)
            return fn(session)

        return self._env.database.run_in_writer(write)

    def write_changes(self, changed: Sequence[Walk]) -> None:
        if not changed:
            return

        def write(session: Session) -> None:
            for one in changed:
                zone_walks.update_walk(session, one)

        self.write(write)

    # Within a transaction

    def list_in(self, session: Session) -> list[Walk]:
        return zone_walks.list_walks(session, self._lease.key)

    def pending_in(self, session: Session) -> list[build_requests.Pending]:
        return build_requests.list_pending(session, self._lease.key)

    def delete_where_it_is(self, session: Session, one: Walk) -> None:
        """Queue the delete in the zone that may have the instance."""
        if one.path is not None:
            kind, context = CleanupKind.DELETE_IN_ZONE, self._reservation.context
            cleanups.add(session, Cleanup(one.instance_uuid, kind, context, zone_path=one.path))
