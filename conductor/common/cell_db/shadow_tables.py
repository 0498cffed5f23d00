"""Shadow tables: the archive of deleted instances and all their records.

No service reads them. They have the columns of their source tables, without constraints and
without ids of their own: SQLite reuses the id of a row that was moved.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import instances, models

METADATA = sa.MetaData()

_INSTANCES, _FAULTS, _ACTIONS, _EVENTS, _MIGRATIONS = (
    models.Base.metadata.tables[model.__tablename__]
    for model in (
        models.Instance,
        models.InstanceFault,
        models.InstanceAction,
        models.InstanceActionEvent,
        models.Migration,
    )
)
_KEYS: Mapping[sa.Table, Sequence[str]] = {
    _INSTANCES: ("uuid",),
    _FAULTS: ("id", "instance_uuid"),
    _ACTIONS: ("uuid",),
    _EVENTS: ("id", "action_uuid"),
    _MIGRATIONS: ("uuid",),
}
_INDEXES: Mapping[sa.Table, str] = {
    _INSTANCES: "deleted_at",
    _FAULTS: "instance_uuid",
    _ACTIONS: "instance_uuid",
    _EVENTS: "action_uuid",
    _MIGRATIONS: "instance_uuid",
}
_UNFINISHED = (models.InstanceBuild, models.InstanceDelete, models.InstanceOperation)

Counts = dict[str, int]
"""Number of rows by the name of their source table."""


def _shadow_of(table: sa.Table) -> sa.Table:
    name = f"shadow_{table.name}"
    columns = [
        sa.Column(
            column.name,
            column.type,
            primary_key=column.name in _KEYS[table],
            nullable=column.nullable,
            autoincrement=False,
        )
        for column in table.columns
    ]
    made = sa.Table(name, METADATA, *columns)
    indexed = _INDEXES.get(table)
    if indexed:
        sa.Index(f"ix_{name}_{indexed}", made.c[indexed])
    return made


SHADOWS: Mapping[sa.Table, sa.Table] = {table: _shadow_of(table) for table in _KEYS}


def archive(session: Session, *, deleted_before: datetime, limit: int) -> Counts:
    """Move instances deleted before a time to the archive, the longest deleted first.

    ``limit`` is a number of instances; their records move with them. Instances with unfinished work
    are skipped. Everything is done when the counts contain no instance.
    """
    uuids = _to_archive(session, deleted_before, limit)
    if not uuids:
        return {}
    _clear(session, uuids)
    counts = {
        table.name: _copy(session, table, condition)
        for table, condition in _belonging(uuids, dict(zip(_KEYS, _KEYS, strict=True))).items()
    }
    instances.remove(session, uuids)
    return counts


def purge(session: Session, *, deleted_before: datetime | None, limit: int) -> Counts:
    """Delete archived instances permanently: those deleted before a time, or any if None.

    ``limit`` is a number of instances. Everything is done when the counts contain no instance.
    """
    instance = SHADOWS[_INSTANCES].c
    query = sa.select(instance.uuid).order_by(instance.deleted_at, instance.uuid).limit(limit)
    if deleted_before is not None:
        query = query.where(instance.deleted_at < deleted_before)
    uuids = session.scalars(query).all()
    if not uuids:
        return {}
    return {
        table.name: _rows(session, sa.delete(SHADOWS[table]).where(condition))
        for table, condition in _belonging(uuids, SHADOWS).items()
    }


def _to_archive(session: Session, deleted_before: datetime, limit: int) -> Sequence[str]:
    """Lock the instances to archive and return their UUIDs."""
    is_in_use = [
        sa.exists().where(model.instance_uuid == models.Instance.uuid) for model in _UNFINISHED
    ]
    query = (
        sa.select(models.Instance.uuid)
        .where(models.Instance.deleted_at < deleted_before, ~sa.or_(*is_in_use))
        .order_by(models.Instance.deleted_at, models.Instance.uuid)
        .limit(limit)
        .with_for_update()
    )
    return session.scalars(query).all()


def _belonging(
    uuids: Sequence[str], tables: Mapping[sa.Table, sa.Table]
) -> dict[sa.Table, sa.ColumnElement[bool]]:
    """Return which rows of each table belong to instances; events come before their actions.

    ``tables`` maps each table of the cell to the one that is read: itself or its shadow.
    """
    actions = tables[_ACTIONS].c
    theirs = sa.select(actions.uuid).where(actions.instance_uuid.in_(uuids))
    return {
        _EVENTS: tables[_EVENTS].c.action_uuid.in_(theirs),
        _ACTIONS: actions.instance_uuid.in_(uuids),
        _FAULTS: tables[_FAULTS].c.instance_uuid.in_(uuids),
        _MIGRATIONS: tables[_MIGRATIONS].c.instance_uuid.in_(uuids),
        _INSTANCES: tables[_INSTANCES].c.uuid.in_(uuids),
    }


def _clear(session: Session, uuids: Sequence[str]) -> None:
    """Delete earlier archived rows: an instance may come back from another cell."""
    for table, condition in _belonging(uuids, SHADOWS).items():
        session.execute(sa.delete(SHADOWS[table]).where(condition))


def _copy(session: Session, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
    names = [column.name for column in table.columns]
    rows = sa.select(*table.columns).where(condition)
    return _rows(session, sa.insert(SHADOWS[table]).from_select(names, rows))


def _rows(session: Session, statement: Any) -> int:
    """Execute a statement; return how many rows it wrote or deleted."""
    result: sa.CursorResult[Any] = session.execute(statement)  # type: ignore[assignment]
    return result.rowcount
