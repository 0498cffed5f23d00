"""Queries on cleanups: work left for instances that their users no longer see."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.insert_missing import insert_missing


class CleanupKind:
    """Kinds of cleanup."""

    DELETE = "delete"
    """Tell the cell (or cell0) to delete the instance."""
    RELEASE = "release"
    """No cell has the instance: release its allocations, and block late claims."""
    DELETE_ELSEWHERE = "delete_elsewhere"
    """Tell the other cell of a move between cells to delete the instance."""
    DROP_COPY = "drop_copy"
    """Tell a cell that a move to or from it is over and its copy can be deleted."""
    DELETE_IN_ZONE = "delete_in_zone"
    """Tell the zone that has or may have it, until the zone reports that nothing is left."""


@dataclasses.dataclass(frozen=True)
class Cleanup:
    """A cleanup of an instance, with the cell or zone, and the migration of a copy."""

    instance_uuid: str
    task: str
    cell_uuid: str | None
    context: dict[str, Any]
    migration_uuid: str | None = None
    zone_path: str | None = None


def add_deletes(
    session: Session, instance_uuids: Collection[str], cell_uuid: str, context: dict[str, Any]
) -> None:
    """Add deletes of these instances in a cell (or cell0), free to be leased at once."""
    _add(session, instance_uuids, CleanupKind.DELETE, cell_uuid, context)


def add_delete_elsewhere(
    session: Session, instance_uuid: str, cell_uuid: str, context: dict[str, Any]
) -> None:
    """Add a delete in the other cell of an instance's move, free to be leased at once."""
    _add(session, [instance_uuid], CleanupKind.DELETE_ELSEWHERE, cell_uuid, context)


def add_copy(
    session: Session,
    instance_uuid: str,
    cell_uuid: str,
    migration_uuid: str,
    context: dict[str, Any],
) -> None:
    """Add the deletion of a cell's copy, free to be leased at once.

    A cleanup that waits for another move of the instance is kept. The cell also asks about
    leftover copies itself, later.
    """
    _add(session, [instance_uuid], CleanupKind.DROP_COPY, cell_uuid, context, migration_uuid)


def add_releases(
    session: Session, instance_uuids: Collection[str], context: dict[str, Any]
) -> None:
    """Add the release of the allocations of these instances, free to be leased at once."""
    _add(session, instance_uuids, CleanupKind.RELEASE, None, context)


def add_zone_delete(
    session: Session, instance_uuid: str, zone_path: str, context: dict[str, Any]
) -> None:
    """Add the delete of an instance in a zone, free to be leased at once."""
    task = CleanupKind.DELETE_IN_ZONE
    _add(session, [instance_uuid], task, None, context, zone_path=zone_path)


def list_cleanups(session: Session, instance_uuids: Collection[str]) -> list[Cleanup]:
    """Return the pending cleanups of these instances."""
    query = sa.select(models.Cleanup).where(models.Cleanup.instance_uuid.in_(instance_uuids))
    return [
        Cleanup(
            row.instance_uuid,
            row.task,
            row.cell_uuid,
            row.context,
            row.migration_uuid,
            row.zone_path,
        )
        for row in session.scalars(query)
    ]


def delete_cleanups(session: Session, instance_uuids: Collection[str], task: str) -> None:
    """Delete cleanups that were completed."""
    session.execute(
        sa.delete(models.Cleanup).where(
            models.Cleanup.instance_uuid.in_(instance_uuids), models.Cleanup.task == task
        )
    )


def _add(
    session: Session,
    instance_uuids: Collection[str],
    task: str,
    cell_uuid: str | None,
    context: dict[str, Any],
    migration_uuid: str | None = None,
    zone_path: str | None = None,
) -> None:
    rows = [
        {
            "instance_uuid": uuid,
            "task": task,
            "cell_uuid": cell_uuid,
            "context": context,
            "migration_uuid": migration_uuid,
            "zone_path": zone_path,
            "lease_owner": None,
            "lease_expires_at": 0.0,
        }
        for uuid in instance_uuids
    ]
    insert_missing(session, models.Cleanup, rows)
