"""Queries on migrations: moves and resizes, in progress and ended."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from objects.instances.migration import ENDED, Migration, MigrationStatus, MigrationType
from objects.instances.server_filters import MigrationFilters

_HAS_ENDED = models.Migration.status.in_(sorted(ENDED))


def find(session: Session, migration_uuid: str) -> models.Migration | None:
    return session.get(models.Migration, migration_uuid)


def find_all(session: Session, uuids: Collection[str]) -> dict[str, models.Migration]:
    query = sa.select(models.Migration).where(models.Migration.uuid.in_(uuids))
    return {row.uuid: row for row in session.scalars(query)}


def find_unfinished(session: Session, instance_uuids: Collection[str]) -> list[models.Migration]:
    """Return the unfinished migrations of these instances, newest first."""
    query = (
        sa.select(models.Migration)
        .where(models.Migration.instance_uuid.in_(instance_uuids), ~_HAS_ENDED)
        .order_by(models.Migration.created_at.desc(), models.Migration.uuid)
    )
    return list(session.scalars(query))


def living(session: Session, uuids: Collection[str]) -> list[str]:
    """Return those of these migrations that have not ended."""
    row = models.Migration
    return list(session.scalars(sa.select(row.uuid).where(row.uuid.in_(uuids), ~_HAS_ENDED)))


def latest_ends(session: Session, instance_uuid: str) -> set[str]:
    """Return the hosts of an instance's latest migration, which may be in progress."""
    query = (
        sa.select(models.Migration.source_host, models.Migration.dest_host)
        .where(models.Migration.instance_uuid == instance_uuid)
        .order_by(models.Migration.created_at.desc())
        .limit(1)
    )
    row = session.execute(query).first()
    return set() if row is None else {host for host in row if host is not None}


def list_of_hosts(session: Session, hosts: Collection[str]) -> list[models.Migration]:
    query = sa.select(models.Migration).where(
        ~_HAS_ENDED, models.Migration.source_host.in_(hosts) | models.Migration.dest_host.in_(hosts)
    )
    return list(session.scalars(query))


def list_done_evacuations(session: Session, *, limit: int | None) -> list[models.Migration]:
    """Return evacuations whose source is not cleaned up yet, oldest first."""
    query = (
        sa.select(models.Migration)
        .where(
            models.Migration.migration_type == MigrationType.EVACUATION,
            models.Migration.status == MigrationStatus.DONE,
        )
        .order_by(models.Migration.created_at)
        .limit(limit)
    )
    return list(session.scalars(query))


def list_page(
    session: Session, *, filters: MigrationFilters, limit: int, cell_uuid: str | None
) -> list[Migration]:
    """Return migrations, newest first."""
    row = models.Migration
    equal = (
        (row.uuid, filters.uuid),
        (row.instance_uuid, filters.instance_uuid),
        (row.status, filters.status),
        (row.migration_type, filters.migration_type),
        (row.source_host, filters.source_host),
        (row.dest_host, filters.dest_host),
        (row.project_id, filters.project_id),
        (row.user_id, filters.user_id),
    )
    query = sa.select(row).where(*(column == value for column, value in equal if value is not None))
    if filters.host is not None:
        query = query.where((row.source_host == filters.host) | (row.dest_host == filters.host))
    changed_at = sa.func.coalesce(row.updated_at, row.created_at)
    if filters.changed_since is not None:
        query = query.where(changed_at >= filters.changed_since)
    if filters.changed_before is not None:
        query = query.where(changed_at <= filters.changed_before)
    if (last := filters.after_created_at) is not None:
        is_next = (row.created_at == last) & (row.uuid < str(filters.after_uuid))
        query = query.where((row.created_at < last) | is_next)
    query = query.order_by(models.Migration.created_at.desc(), models.Migration.uuid.desc())
    return [to_object(row, cell_uuid=cell_uuid) for row in session.scalars(query.limit(limit))]


def remove(session: Session, instance_uuids: Sequence[str]) -> None:
    session.execute(
        sa.delete(models.Migration).where(models.Migration.instance_uuid.in_(instance_uuids))
    )


def to_object(row: models.Migration, *, cell_uuid: str | None) -> Migration:
    columns = set(Migration.fields) - {"old_flavor", "new_flavor", "cell_uuid"}
    return Migration.from_values(
        {name: getattr(row, name) for name in columns},
        old_flavor=None if row.old_flavor is None else row.old_flavor.load(),
        new_flavor=None if row.new_flavor is None else row.new_flavor.load(),
        cell_uuid=cell_uuid,
    )
