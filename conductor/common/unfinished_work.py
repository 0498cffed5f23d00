"""Unfinished work: rows of all leased tables, in progress or waiting, in a common form."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from objects.hosts.activity import WorkCount


@dataclasses.dataclass(frozen=True)
class Work:
    """One row. ``since`` is when it was requested, None if that is unknown.

    A reservation has no ``instance_uuid``, because it has several instances. ``lease_owner`` works
    on it until ``lease_expires_at`` (seconds since 1970). After that, or without an owner, any
    conductor may resume it.
    """

    table: str
    operation: str | None
    stage: str
    instance_uuid: str | None
    reservation_id: str | None
    migration_uuid: str | None
    since: datetime | None
    tries: int | None
    failure: str | None
    lease_owner: str | None
    lease_expires_at: float


@dataclasses.dataclass(frozen=True)
class Source:
    """A leased table, and a query that returns its rows with the columns of :class:`Work`."""

    table: str
    rows: sa.Select[Any]


_TEXT = sa.cast(sa.null(), sa.String(255))
_NUMBER = sa.cast(sa.null(), sa.Integer)


def source(model: Any, **values: Any) -> Source:
    """Return the source of a leased table; ``values`` must have ``stage`` and ``since``."""
    columns = {
        "operation": _TEXT,
        "instance_uuid": _TEXT,
        "reservation_id": _TEXT,
        "migration_uuid": _TEXT,
        "tries": _NUMBER,
        "failure": _TEXT,
        "lease_owner": model.lease_owner,
        "lease_expires_at": model.lease_expires_at,
        **values,
    }
    query = sa.select(*(value.label(name) for name, value in columns.items()))
    return Source(str(model.__tablename__), query.select_from(model))


def counts(session: Session, source: Source, *, now_seconds: float) -> list[WorkCount]:
    """Return the number of works of a table by operation and stage."""
    each = source.rows.subquery().c
    is_free = sa.case((each.lease_expires_at <= now_seconds, 1), else_=0)
    query = (
        sa.select(
            each.operation, each.stage, sa.func.count(), sa.func.sum(is_free),
            sa.func.min(each.since), sa.func.count(each.since),
        )
        .group_by(each.operation, each.stage)
        .order_by(each.operation, each.stage)
    )  # fmt: skip
    return [
        WorkCount(
            source.table, operation, stage, count, int(free), start if dated == count else None
        )
        for operation, stage, count, free, start, dated in session.execute(query)
    ]


def oldest(session: Session, source: Source, *, limit: int) -> list[Work]:
    """Return the oldest works of a table; those of unknown age come first."""
    each = source.rows.subquery().c
    query = sa.select(*each).order_by(each.since.is_not(None), each.since).limit(limit)
    return [_work(source.table, row) for row in session.execute(query).mappings()]


def by_age(works: Sequence[Work]) -> list[Work]:
    """Return works of several tables in the order of :func:`oldest`."""
    unknown = [work for work in works if work.since is None]
    known = [(work.since, work) for work in works if work.since is not None]
    return unknown + [work for _since, work in sorted(known, key=lambda pair: pair[0])]


def _work(table: str, row: sa.RowMapping) -> Work:
    tries = row["tries"]
    return Work(table=table, **{**row, "tries": None if tries is None else int(tries)})
