"""Queries on instance mappings: where each instance is, from acceptance to purge."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, insert, update
from objects.instance import Instance
from objects.instances.instance_mapping import InstanceMapping
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters

Row = models.InstanceMapping


@dataclasses.dataclass(frozen=True)
class Size:
    """The size that counts against quota; see ``models.InstanceMapping``."""

    vcpus: int
    memory_mb: int
    is_resizing: bool
    resize_asked_at: datetime | None


@dataclasses.dataclass(frozen=True)
class Resizing:
    """A local instance that counts with the larger of two flavors."""

    instance_uuid: str
    cell_uuid: str | None
    size: Size


@dataclasses.dataclass(frozen=True)
class InZone:
    """An instance that another zone has or may have."""

    instance_uuid: str
    zone_path: str
    size: Size


_IS_IN_NO_MOVE = ~sa.exists().where(models.Move.instance_uuid == Row.instance_uuid)
_RESIZING = (
    sa.select(Row)
    .where(
        Row.is_resizing.is_(True),
        Row.zone_path.is_(None),
        Row.queued_for_delete.is_(False),
        Row.instance_uuid > sa.bindparam("after"),
        _IS_IN_NO_MOVE,
    )
    .order_by(Row.instance_uuid)
    .limit(sa.bindparam("limit"))
    .execution_options(populate_existing=True)
)

_FOUND = (  # built once: building costs more than executing
    sa.select(Row)
    .where(Row.instance_uuid.in_(sa.bindparam("uuids", expanding=True)))
    .execution_options(populate_existing=True)
)


@dataclasses.dataclass(frozen=True, slots=True)
class NewMapping:
    """A mapping to insert; without a cell while the instance is being scheduled."""

    instance_uuid: str
    reservation_id: str
    project_id: str
    user_id: str
    vcpus: int
    memory_mb: int
    created_at: datetime
    cell_uuid: str | None = None
    queued_for_delete: bool = False

    @classmethod
    def of(
        cls, instance: Instance, reservation_id: str, *, now: datetime, cell_uuid: str | None = None
    ) -> NewMapping:
        """Return the mapping of an instance, whose size is that of its flavor."""
        return cls(
            instance.uuid, reservation_id, instance.project_id, instance.user_id,
            instance.flavor.vcpus, instance.flavor.memory_mb, instance.created_at or now, cell_uuid,
        )  # fmt: skip


def add_mappings(session: Session, rows: Sequence[NewMapping]) -> None:
    """Insert mappings."""
    insert(session, Row, rows)


def find_mapping(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Return the mapping of an instance, None if it is unknown."""
    return find_mappings(session, [instance_uuid]).get(instance_uuid)


def lock(session: Session, instance_uuid: str) -> None:
    """Lock the mapping of an instance, if there is one, until the transaction ends."""
    query = sa.select(Row.instance_uuid).where(Row.instance_uuid == instance_uuid)
    session.execute(query.with_for_update())


def find_mappings(session: Session, instance_uuids: Collection[str]) -> dict[str, InstanceMapping]:
    """Return instance -> mapping for those that are known."""
    rows = session.scalars(_FOUND, {"uuids": [*instance_uuids]})
    return {row.instance_uuid: _to_object(row) for row in rows}


def map_to_cell(session: Session, instance_uuids: Collection[str], cell_uuid: str) -> None:
    """Map these instances to a cell (or cell0)."""
    update(session, Row, Row.instance_uuid.in_(instance_uuids), cell_uuid=cell_uuid)


def map_to_zone(session: Session, instance_uuid: str, zone_path: str | None) -> None:
    """Map an instance to the zone that has or may have it; None: no zone has it."""
    update(session, Row, Row.instance_uuid == instance_uuid, zone_path=zone_path)


def leave_cell(session: Session, instance_uuid: str, cell_uuid: str) -> bool:
    """Unmap an instance from a cell; False if it was not mapped there."""
    return update(
        session, Row, Row.instance_uuid == instance_uuid, Row.cell_uuid == cell_uuid, cell_uuid=None
    )


def zone_paths(session: Session, project_id: str | None) -> list[str]:
    """Return the paths of all zones that have servers of a project, or of any for None."""
    where: list[sa.ColumnElement[bool]] = [
        Row.zone_path.is_not(None),
        Row.queued_for_delete.is_(False),
    ]
    if project_id is not None:
        where.append(Row.project_id == project_id)
    return [
        str(path) for path in session.scalars(sa.select(Row.zone_path).where(*where).distinct())
    ]


def list_page(
    session: Session,
    *,
    cell_uuids: Collection[str],
    paths: Collection[str],
    filters: ServerFilters,
    limit: int,
    marker: InstanceMarker | None,
) -> list[InstanceMapping]:
    """Return living instances of these cells and zones, newest first, like a cell's ``list_page``.

    Of ``filters``, project, user and UUID apply.
    """
    query = (
        sa.select(Row)
        .where(
            Row.queued_for_delete.is_(False),
            sa.or_(
                Row.cell_uuid.in_(cell_uuids),
                sa.and_(Row.cell_uuid.is_(None), Row.zone_path.in_(paths)),
            ),
        )
        .order_by(Row.created_at.desc(), Row.instance_uuid.desc())
        .limit(limit)
        .execution_options(populate_existing=True)
    )
    if filters.project_id is not None:
        query = query.where(Row.project_id == filters.project_id)
    if filters.user_id is not None:
        query = query.where(Row.user_id == filters.user_id)
    if filters.uuid is not None:
        query = query.where(Row.instance_uuid == filters.uuid)
    if marker is not None:
        is_same_moment = sa.and_(
            Row.created_at == marker.created_at, Row.instance_uuid < marker.uuid
        )
        query = query.where(sa.or_(Row.created_at < marker.created_at, is_same_moment))
    return [_to_object(row) for row in session.scalars(query)]


def list_in_zones(
    session: Session, cell_uuid: str | None, *, after: str, limit: int, resizing_only: bool = False
) -> list[InZone]:
    """Return mapped instances after a UUID; with cell0, those that a zone may have."""
    where = [
        Row.zone_path.is_not(None),
        Row.cell_uuid == cell_uuid,
        Row.queued_for_delete.is_(False),
        Row.instance_uuid > after,
    ]
    if resizing_only:
        where.append(Row.is_resizing.is_(True))
    query = (
        sa.select(Row)
        .where(*where)
        .order_by(Row.instance_uuid)
        .limit(limit)
        .execution_options(populate_existing=True)
    )
    return [
        InZone(row.instance_uuid, str(row.zone_path), _size(row)) for row in session.scalars(query)
    ]


def queue_for_delete(session: Session, instance_uuid: str, *, now: datetime) -> bool:
    """Mark an instance as deleted by its user, out of quota. False if it already was."""
    return update(
        session,
        Row,
        Row.instance_uuid == instance_uuid,
        Row.queued_for_delete.is_(False),
        queued_for_delete=True,
        deleted_at=now,
    )


def unmapped(session: Session, instance_uuids: Collection[str]) -> set[str]:
    """Return those of these instances that have no mapping."""
    query = sa.select(Row.instance_uuid).where(Row.instance_uuid.in_(instance_uuids))
    return set(instance_uuids) - set(session.scalars(query))


def cells_of(session: Session, instance_uuids: Collection[str]) -> dict[str, list[str]]:
    """Return cell UUID -> those of these instances that it has."""
    found: dict[str, list[str]] = {}
    for mapping in find_mappings(session, instance_uuids).values():
        if mapping.cell_uuid is not None:
            found.setdefault(mapping.cell_uuid, []).append(mapping.instance_uuid)
    return found


def sizes(session: Session, instance_uuids: Collection[str]) -> dict[str, Size]:
    """Return instance -> size, for those that are known."""
    rows = session.scalars(_FOUND, {"uuids": [*instance_uuids]})
    return {row.instance_uuid: _size(row) for row in rows}


def raise_quota_size(
    session: Session, instance_uuid: str, *, vcpus: int, memory_mb: int, asked_at: datetime
) -> None:
    """Raise an instance's size (vCPUs, MiB) to at least this until its resize is settled.

    ``asked_at``: when the resize was requested, in microseconds.
    """
    update(
        session,
        Row,
        Row.instance_uuid == instance_uuid,
        vcpus=sa.case((Row.vcpus < vcpus, vcpus), else_=Row.vcpus),
        memory_mb=sa.case((Row.memory_mb < memory_mb, memory_mb), else_=Row.memory_mb),
        is_resizing=True,
        resize_asked_at=asked_at,
    )


def recheck_sizes(session: Session, sizes: Mapping[str, Size]) -> list[str]:
    """Have the sizes of these local instances read from their cells again; return their UUIDs.

    Those that have changed since, or that are in a move, are left out.
    """
    return [
        uuid
        for uuid, size in sizes.items()
        if update(
            session, Row, *_is_unchanged(uuid, size), Row.zone_path.is_(None), _IS_IN_NO_MOVE,
            is_resizing=True,
        )
    ]  # fmt: skip


def replace_size(session: Session, instance_uuid: str, former: Size, size: Size) -> bool:
    """Replace the size of an instance; False if it has changed, or is in another move, by now."""
    return update(
        session,
        Row,
        *_is_unchanged(instance_uuid, former),
        _IS_IN_NO_MOVE,
        vcpus=size.vcpus,
        memory_mb=size.memory_mb,
        is_resizing=size.is_resizing,
    )


def _is_unchanged(instance_uuid: str, size: Size) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        Row.instance_uuid == instance_uuid,
        Row.vcpus == size.vcpus,
        Row.memory_mb == size.memory_mb,
        Row.is_resizing.is_(size.is_resizing),
        Row.resize_asked_at == size.resize_asked_at,
    )


def list_resizing(session: Session, *, after: str, limit: int) -> list[Resizing]:
    """Return local instances that count with the larger of two flavors, ordered by UUID.

    They follow ``after``. Moves that still need a host are left out.
    """
    rows = session.scalars(_RESIZING, {"after": after, "limit": limit})
    return [Resizing(row.instance_uuid, row.cell_uuid, _size(row)) for row in rows]


def list_counted(
    session: Session, *, created_before: datetime, after: str, limit: int
) -> list[str]:
    """Return local instances that count against quota and are in no move, ordered by UUID."""
    query = (
        sa.select(Row.instance_uuid)
        .where(
            Row.queued_for_delete.is_(False),
            Row.zone_path.is_(None),
            Row.created_at < created_before,
            Row.instance_uuid > after,
            _IS_IN_NO_MOVE,
        )
        .order_by(Row.instance_uuid)
        .limit(limit)
    )
    return list(session.scalars(query))


def list_purgeable(session: Session, *, deleted_before: datetime, limit: int) -> list[str]:
    """Return instances deleted before a time that have no cleanup or build request left."""
    query = (
        sa.select(Row.instance_uuid)
        .where(
            Row.queued_for_delete.is_(True),
            Row.deleted_at <= deleted_before,
            ~sa.exists().where(models.Cleanup.instance_uuid == Row.instance_uuid),
            ~sa.exists().where(models.BuildRequest.instance_uuid == Row.instance_uuid),
        )
        .order_by(Row.deleted_at)
        .limit(limit)
    )
    return list(session.scalars(query))


def delete_mappings(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the mappings of instances."""
    delete(session, Row, Row.instance_uuid.in_(instance_uuids))


def _size(row: Row) -> Size:
    return Size(row.vcpus, row.memory_mb, row.is_resizing, row.resize_asked_at)


def _to_object(row: Row) -> InstanceMapping:
    return InstanceMapping(
        instance_uuid=row.instance_uuid, cell_uuid=row.cell_uuid, project_id=row.project_id,
        user_id=row.user_id, queued_for_delete=row.queued_for_delete, zone_path=row.zone_path,
        created_at=row.created_at,
    )  # fmt: skip
