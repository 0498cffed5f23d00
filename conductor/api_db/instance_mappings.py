"""Queries on instance mappings: where each is, from its acceptance until it is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db import models
from objects.instance_mapping import InstanceMapping

_IS_IN_NO_MOVE = ~sa.exists().where(
    models.Move.instance_uuid == models.InstanceMapping.instance_uuid
)


def add_mappings(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store new ones: dicts of all columns but those that are null at first."""
    session.execute(sa.insert(models.InstanceMapping), rows)


def find_mapping(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Return where an instance is, None when it is unknown."""
    return find_mappings(session, [instance_uuid]).get(instance_uuid)


def find_mappings(session: Session, instance_uuids: Collection[str]) -> dict[str, InstanceMapping]:
    """Return the mappings of those instances that are known, by UUID."""
    query = (
        sa.select(models.InstanceMapping)
        .where(models.InstanceMapping.instance_uuid.in_(instance_uuids))
        .execution_options(populate_existing=True)
    )
    return {row.instance_uuid: _to_object(row) for row in session.scalars(query)}


def map_to_cell(session: Session, instance_uuids: Collection[str], cell_uuid: str) -> None:
    """Say that these instances are in a cell (or cell0) now."""
    session.execute(
        sa.update(models.InstanceMapping)
        .where(models.InstanceMapping.instance_uuid.in_(instance_uuids))
        .values(cell_uuid=cell_uuid)
        .execution_options(synchronize_session=False)
    )


def queue_for_delete(session: Session, instance_uuid: str, *, now: datetime) -> bool:
    """Say that its user deleted it: it no longer counts. False when that was said before."""
    result: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(models.InstanceMapping)
        .where(
            models.InstanceMapping.instance_uuid == instance_uuid,
            models.InstanceMapping.queued_for_delete.is_(False),
        )
        .values(queued_for_delete=True, deleted_at=now)
        .execution_options(synchronize_session=False)
    )
    return result.rowcount > 0


def unmapped(session: Session, instance_uuids: Collection[str]) -> set[str]:
    """Return those of these instances that have no mapping."""
    query = sa.select(models.InstanceMapping.instance_uuid).where(
        models.InstanceMapping.instance_uuid.in_(instance_uuids)
    )
    return set(instance_uuids) - set(session.scalars(query))


def cells_of(session: Session, instance_uuids: Collection[str]) -> dict[str, list[str]]:
    """Return cell UUID -> those of these instances that are in it."""
    found: dict[str, list[str]] = {}
    for mapping in find_mappings(session, instance_uuids).values():
        if mapping.cell_uuid is not None:
            found.setdefault(mapping.cell_uuid, []).append(mapping.instance_uuid)
    return found


def grow_sizes(session: Session, instance_uuid: str, *, vcpus: int, memory_mb: int) -> None:
    """Let an instance count at least so much (vCPUs, MiB) until its resize is settled."""
    mapping = models.InstanceMapping
    session.execute(
        sa.update(mapping)
        .where(mapping.instance_uuid == instance_uuid)
        .values(
            vcpus=sa.case((mapping.vcpus < vcpus, vcpus), else_=mapping.vcpus),
            memory_mb=sa.case((mapping.memory_mb < memory_mb, memory_mb), else_=mapping.memory_mb),
            is_resizing=True,
        )
        .execution_options(synchronize_session=False)
    )


def settle_sizes(session: Session, instance_uuid: str, *, vcpus: int, memory_mb: int) -> bool:
    """Let an instance count exactly so much; False when it is in another move by now."""
    mapping = models.InstanceMapping
    result: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(mapping)
        .where(mapping.instance_uuid == instance_uuid, _IS_IN_NO_MOVE)
        .values(vcpus=vcpus, memory_mb=memory_mb, is_resizing=False)
        .execution_options(synchronize_session=False)
    )
    return result.rowcount > 0


def list_resizing(session: Session, *, after: str, limit: int) -> list[InstanceMapping]:
    """Return instances that count with the larger of two flavors, by UUID, from one on.

    Those for which hosts are still to be found are left out.
    """
    mapping = models.InstanceMapping
    query = (
        sa.select(mapping)
        .where(
            mapping.is_resizing.is_(True),
            mapping.queued_for_delete.is_(False),
            mapping.instance_uuid > after,
            _IS_IN_NO_MOVE,
        )
        .order_by(mapping.instance_uuid)
        .limit(limit)
    )
    return [_to_object(row) for row in session.scalars(query)]


def list_forgettable(session: Session, *, deleted_before: datetime, limit: int) -> list[str]:
    """Return instances deleted before a moment for which nothing is left to be done."""
    mapping = models.InstanceMapping
    query = (
        sa.select(mapping.instance_uuid)
        .where(
            mapping.queued_for_delete.is_(True),
            mapping.deleted_at <= deleted_before,
            ~sa.exists().where(models.Cleanup.instance_uuid == mapping.instance_uuid),
            ~sa.exists().where(models.BuildRequest.instance_uuid == mapping.instance_uuid),
        )
        .order_by(mapping.deleted_at)
        .limit(limit)
    )
    return list(session.scalars(query))


def delete_mappings(session: Session, instance_uuids: Collection[str]) -> None:
    """Forget instances."""
    session.execute(
        sa.delete(models.InstanceMapping).where(
            models.InstanceMapping.instance_uuid.in_(instance_uuids)
        )
    )


def _to_object(row: models.InstanceMapping) -> InstanceMapping:
    return InstanceMapping.from_values(
        instance_uuid=row.instance_uuid, cell_uuid=row.cell_uuid, project_id=row.project_id,
        user_id=row.user_id, queued_for_delete=row.queued_for_delete,
    )  # fmt: skip
