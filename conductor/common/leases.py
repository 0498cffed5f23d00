"""Leases: which conductor works on a row and until when, so that exactly one does at a time.

Leases replace leader election: no conductor leads. ``[conductor] lease_seconds`` is the duration.

A table with leased rows has two columns from :class:`LeaseMixin`: ``lease_owner`` (text, null while
the row is free) and ``lease_expires_at`` (seconds since 1970). A row is free when that time has
passed. A lease is taken by one conditional UPDATE, so of several conductors exactly one gets it.
Both conductors use leases in the same way::

    builds = Leases(Build, Build.instance_uuid, owner=name, lease_seconds=30, now=time.time)

    session.add(Build(..., **builds.held().columns))       # a new row, leased from the start
    for key, _ in builds.list_free(session, limit=100):    # recovery: rows with expired leases
        lease = builds.take(session, key)                  # None: another conductor was faster
        ...
        if not builds.renew(session, lease): return        # lost: another conductor has it now
        ...
        builds.release(session, lease, retry_in_seconds=5)  # or delete the row: done

``extend`` is for rows whose work is done elsewhere, such as a build named in an agent's heartbeat:
it renews the leases of many rows in one statement, regardless of their owners. Every method runs in
the caller's transaction.

A lease does not stop a slow holder. Writes after the lease has expired are refused where it
matters: by ``renew`` in the same transaction, and by the fence that a takeover raises (``take(...,
fence=next_attempt(Model.fence))``).
"""

import dataclasses
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute, Mapped, Session, mapped_column

from armillary.db import Database
from armillary.metrics import service_metrics

_OWNER_LENGTH = 255


class LeaseMixin:
    """The two columns of a table with leased rows; add an index on ``lease_expires_at``."""

    lease_owner: Mapped[str | None] = mapped_column(sa.String(_OWNER_LENGTH))
    lease_expires_at: Mapped[float] = mapped_column(sa.Double, default=0.0)


@dataclasses.dataclass(frozen=True)
class Lease:
    """A leased row. ``owner`` is unique to each lease, so two threads of one conductor differ."""

    key: str
    owner: str
    expires_at: float

    @property
    def columns(self) -> dict[str, str | float]:
        """Values of the two columns in a row that is inserted under this lease."""
        return {"lease_owner": self.owner, "lease_expires_at": self.expires_at}


class Leases:
    """The leases of one table, as taken by one conductor.

    ``key`` is a column that identifies one row (or all rows that are processed as one). ``owner``
    is the conductor's name, for people who read the table. ``now`` returns seconds since 1970.
    Conductors that share a database share its server's clock, a ``DatabaseClock``.
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
        service_metrics.expose(service_metrics.TAKEN_UP, self.table)
        service_metrics.expose(service_metrics.TAKEN_OVER, self.table)
        columns = model.__table__.c  # type: ignore[attr-defined]
        self._free = (  # from columns, not mapped attributes: it is executed very often
            sa.select(columns[key.key], columns.lease_owner)
            .where(columns.lease_expires_at <= sa.bindparam("now"))
            .order_by(columns.lease_expires_at)
            .limit(sa.bindparam("limit"))
        )

    @property
    def table(self) -> str:
        """Table name, for people and metrics."""
        return str(self._key.class_.__tablename__)

    def held(self, key: str = "") -> Lease:
        """Return a lease for a row that the caller will insert with ``**lease.columns``."""
        return Lease(key, f"{self._owner}/{uuid.uuid4().hex}", self._end)

    def take(self, session: Session, /, key: str, **values: Any) -> Lease | None:
        """Lease a row and set ``values`` (may be SQL expressions); return None if not free."""
        lease = self.held(key)
        free = [self._key == key, self._model.lease_expires_at <= self._now()]
        return lease if self._update(session, free, **lease.columns, **values) else None

    def renew(self, session: Session, /, lease: Lease, **values: Any) -> bool:
        """Renew a lease and set ``values``; return False if it was lost and the work must stop."""
        return self._update(session, self._ours(lease), lease_expires_at=self._end, **values) > 0

    def renew_each(self, session: Session, /, leases: Collection[Lease], **values: Any) -> set[str]:
        """Renew many leases as :meth:`renew` does; return the keys of those that were not lost."""
        if not leases:
            return set()
        ours = self._any_of(leases)
        if self._update(session, ours, lease_expires_at=self._end, **values) == len(leases):
            return {lease.key for lease in leases}
        return self.held_by(session, leases)

    def held_by(self, session: Session, leases: Collection[Lease]) -> set[str]:
        """Return the keys of the leases that were not lost."""
        return set(session.scalars(sa.select(self._key).where(*self._any_of(leases))))

    def renew_all(self, session: Session, leases: Collection[Lease]) -> int:
        if not leases:
            return 0
        ours = [self._model.lease_owner.in_([lease.owner for lease in leases])]
        return self._update(session, ours, lease_expires_at=self._end)

    def release(
        self, session: Session, /, lease: Lease, *, retry_in_seconds: float = 0.0, **values: Any
    ) -> bool:
        """Release a lease, to be taken again after a pause; return False if it was lost."""
        free_at = self._now() + retry_in_seconds
        free = {"lease_owner": None, "lease_expires_at": free_at, **values}
        return self._update(session, self._ours(lease), **free) > 0

    def release_all(self, session: Session, leases: Collection[Lease]) -> int:
        """Release many leases in one statement; return the number of those that were not lost."""
        if not leases:
            return 0
        ours = [self._model.lease_owner.in_([lease.owner for lease in leases])]
        return self._update(session, ours, lease_owner=None, lease_expires_at=self._now())

    def extend(self, session: Session, keys: Collection[str], *also: sa.ColumnElement[bool]) -> int:
        """Renew leases of any owner where ``also`` is true; return the number of rows."""
        if not keys:
            return 0
        return self._update(session, [self._key.in_(keys), *also], lease_expires_at=self._end)

    def list_free(
        self, session: Session, *also: sa.ColumnElement[bool], limit: int
    ) -> list[tuple[str, str | None]]:
        """Return keys of free rows where ``also`` is true, those that expired first come first.

        Each comes with the holder that did not release it, if there is one.
        """
        query = self._free.where(*also) if also else self._free
        found = session.execute(query, {"now": self._now(), "limit": limit})
        return [(key, owner) for key, owner in found]

    @property
    def _end(self) -> float:
        """When a lease that is taken or renewed now expires."""
        return self._now() + self._lease_seconds

    def _ours(self, lease: Lease) -> list[sa.ColumnElement[bool]]:
        return [self._key == lease.key, self._model.lease_owner == lease.owner]

    def _any_of(self, leases: Collection[Lease]) -> list[sa.ColumnElement[bool]]:
        return [
            self._key.in_([lease.key for lease in leases]),
            self._model.lease_owner.in_([lease.owner for lease in leases]),
        ]

    def _update(
        self, session: Session, where: Sequence[sa.ColumnElement[bool]], **values: Any
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
    """Renews the leases of all work in progress in this process, also while it waits for answers.

    ``renew_all`` has to be called every third of ``lease_seconds``. Work whose lease is lost anyway
    finds out by ``Leases.renew`` before it writes.
    """

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases
        self._kept: dict[str, Lease] = {}
        service_metrics.watch_leases(leases.table, self)

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, lease: Lease) -> None:
        """Keep renewing this lease until it is dropped."""
        self._kept[lease.owner] = lease

    def drop(self, lease: Lease) -> None:
        self._kept.pop(lease.owner, None)

    def renew_all(self) -> None:
        kept = list(self._kept.values())
        if kept:
            self._database.run_in_writer(self._leases.renew_all, kept)

    def release_all(self) -> None:
        """Release all kept leases at shutdown, so that their work is resumed without delay."""
        kept = list(self._kept.values())
        if kept:
            self._database.run_in_writer(self._leases.release_all, kept)
