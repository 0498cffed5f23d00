"""Leases: who works on a row until when, so that one conductor does, and another one goes on.

A table whose rows are worked on has two columns from :class:`LeaseMixin`: ``lease_owner`` (text,
null when nobody works on it) and ``lease_expires_at`` (seconds since 1970). A row is free when that
moment has passed; a lease is taken by one conditional UPDATE, so of several conductors exactly one
gets it. Both conductors use this alike::

    builds = Leases(Build, Build.instance_uuid, owner=name, lease_seconds=30, now=time.time)

    session.add(Build(..., **builds.held().columns))       # a new row, worked on from the start
    for key in builds.list_free(session, limit=100):       # recovery: what was left lying
        lease = builds.take(session, key)                  # None: somebody else was faster
        ...
        if not builds.renew(session, lease): return        # lost: another one works on it now
        ...
        builds.let_go(session, lease, retry_in_seconds=5)  # or delete the row: done

``extend`` is for rows whose work is elsewhere, such as a build that an agent's heartbeat names: it
moves the end for many rows at once, whoever holds them. Every method runs in the caller's
transaction.

A lease does not stop a holder that was slow: what it writes after its lease ran out is refused
where it matters, by ``renew`` in the same transaction and by the fence that a take-over raises
(``take(..., fence=Model.fence + FENCE_STEP)``).
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute, Mapped, Session, mapped_column

from armillary import measures
from armillary.db import Database

_OWNER_LENGTH = 255


class LeaseMixin:
    """The two columns of a table whose rows are leased; give ``lease_expires_at`` an index."""

    lease_owner: Mapped[str | None] = mapped_column(sa.String(_OWNER_LENGTH))
    lease_expires_at: Mapped[float] = mapped_column(sa.Double, default=0.0)


@dataclasses.dataclass(frozen=True)
class Lease:
    """A row that was taken. ``owner`` is new each time, so two threads of one conductor differ."""

    key: str
    owner: str
    expires_at: float

    @property
    def columns(self) -> dict[str, Any]:
        """What a row that is made under this lease has in its two columns."""
        return {"lease_owner": self.owner, "lease_expires_at": self.expires_at}


class Leases:
    """The leases of one table, as one conductor takes them.

    ``key`` is a column that names one row (or all rows that are worked on as one). ``owner`` is the
    conductor's name, for people who read the table. ``now`` gives seconds since 1970; clocks of
    conductors that share a database must agree to much less than ``lease_seconds``.
    """

    def __init__(
        self,
        model: type[LeaseMixin],
        key: InstrumentedAttribute[str],
        *,
        owner: str,
        lease_seconds: float,
        now: Callable[[], float],
    ) -> None:
        self._model = model
        self._key = key
        self._owner = owner[: _OWNER_LENGTH - 33]
        self._lease_seconds = lease_seconds
        self._now = now
        columns = model.__table__.c  # type: ignore[attr-defined]
        self._free = (  # of columns, not of mapped attributes: it is asked again and again
            sa.select(columns[key.key])
            .where(columns.lease_expires_at <= sa.bindparam("now"))
            .order_by(columns.lease_expires_at)
            .limit(sa.bindparam("limit"))
        )

    @property
    def table(self) -> str:
        """The name of the table, for people and metrics."""
        return str(self._key.class_.__tablename__)

    def held(self, key: str = "") -> Lease:
        """Return a lease for a row that the caller is about to insert with ``**lease.columns``."""
        return Lease(key, f"{self._owner}/{uuid.uuid4().hex}", self._now() + self._lease_seconds)

    def take(self, session: Session, key: str, **values: Any) -> Lease | None:
        """Take a free row and set ``values`` (may be SQL expressions); None when it is not free."""
        lease = self.held(key)
        free = [self._key == key, self._model.lease_expires_at <= self._now()]
        return lease if self._update(session, free, {**lease.columns, **values}) else None

    def renew(self, session: Session, lease: Lease, **values: Any) -> bool:
        """Move the end of a lease, and set ``values``; False when it is no longer ours: stop."""
        end = {"lease_expires_at": self._now() + self._lease_seconds}
        return self._update(session, self._ours(lease), {**end, **values}) > 0

    def renew_each(self, session: Session, leases: Collection[Lease], **values: Any) -> set[str]:
        """Do what :meth:`renew` does for many leases; return the keys of those still ours."""
        if not leases:
            return set()
        end = {"lease_expires_at": self._now() + self._lease_seconds}
        if self._update(session, self._any_of(leases), {**end, **values}) == len(leases):
            return {lease.key for lease in leases}
        return self.held_by(session, leases)

    def held_by(self, session: Session, leases: Collection[Lease]) -> set[str]:
        """Return the keys of those leases that are still ours."""
        return set(session.scalars(sa.select(self._key).where(*self._any_of(leases))))

    def renew_all(self, session: Session, leases: Collection[Lease]) -> int:
        """Move the end of many leases in one statement; return how many of them are still ours."""
        if not leases:
            return 0
        ours = [self._model.lease_owner.in_([lease.owner for lease in leases])]
        end = {"lease_expires_at": self._now() + self._lease_seconds}
        return self._update(session, ours, end)

    def let_go(
        self, session: Session, lease: Lease, *, retry_in_seconds: float = 0.0, **values: Any
    ) -> bool:
        """Give a row back, to be taken up not before a pause; False when it was no longer ours."""
        free = {"lease_owner": None, "lease_expires_at": self._now() + retry_in_seconds}
        return self._update(session, self._ours(lease), {**free, **values}) > 0

    def let_go_all(self, session: Session, leases: Collection[Lease]) -> int:
        """Give many rows back in one statement; return how many of them were still ours."""
        if not leases:
            return 0
        ours = [self._model.lease_owner.in_([lease.owner for lease in leases])]
        free = {"lease_owner": None, "lease_expires_at": self._now()}
        return self._update(session, ours, free)

    def extend(self, session: Session, keys: Collection[str], *also: sa.ColumnElement[bool]) -> int:
        """Move the end of many rows whoever holds them, where ``also`` is true; return how many."""
        if not keys:
            return 0
        where = [self._key.in_(keys), *also]
        return self._update(session, where, {"lease_expires_at": self._now() + self._lease_seconds})

    def list_free(self, session: Session, *also: sa.ColumnElement[bool], limit: int) -> list[str]:
        """Return keys of free rows where ``also`` is true, those that lie longest first."""
        query = self._free.where(*also) if also else self._free
        return list(session.scalars(query, {"now": self._now(), "limit": limit}))

    def _ours(self, lease: Lease) -> list[sa.ColumnElement[bool]]:
        return [self._key == lease.key, self._model.lease_owner == lease.owner]

    def _any_of(self, leases: Collection[Lease]) -> list[sa.ColumnElement[bool]]:
        return [
            self._key.in_([lease.key for lease in leases]),
            self._model.lease_owner.in_([lease.owner for lease in leases]),
        ]

    def _update(
        self, session: Session, where: Sequence[sa.ColumnElement[bool]], values: dict[str, Any]
    ) -> int:
        statement = (
            sa.update(self._model)
            .where(*where)
            .values(**values)
            .execution_options(synchronize_session=False)
        )
        result: sa.CursorResult[Any] = session.execute(statement)  # type: ignore[assignment]
        return result.rowcount


class LeaseKeeper:
    """Keeps the leases of all work that a process has in hand, while some of it waits for answers.

    ``renew_all`` is to be called every third of ``lease_seconds``. Work that lost its lease all the
    same finds out by ``Leases.renew`` before it writes.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases
        self._kept: dict[str, Lease] = {}
        measures.watch_leases(leases.table, self)

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, lease: Lease) -> None:
        """Renew this lease until it is dropped."""
        self._kept[lease.owner] = lease

    def drop(self, lease: Lease) -> None:
        """Renew it no longer."""
        self._kept.pop(lease.owner, None)

    def renew_all(self) -> None:
        """Move the end of all kept leases."""
        kept = list(self._kept.values())
        if kept:
            self._database.run_in_writer(lambda session: self._leases.renew_all(session, kept))

    def let_go_all(self) -> None:
        """Give back what is left when the process ends, so that nobody waits for its leases."""
        kept = list(self._kept.values())
        if kept:
            self._database.run_in_writer(lambda session: self._leases.let_go_all(session, kept))
