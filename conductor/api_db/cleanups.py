"""Queries on cleanups: what is still to be done for instances that are gone for their users."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db import models
from conductor.api_db.insert_missing import insert_missing


class CleanupTask:
    """What there is to do."""

    DELETE = "delete"
    """Tell the cell (or cell0) to delete the instance."""
    RELEASE = "release"
    """No cell has it: release its allocations, and let no late claim come after."""
    DELETE_ELSEWHERE = "delete_elsewhere"
    """Tell the other cell of a move between two to delete the instance, too."""
    DROP_COPY = "drop_copy"
    """Tell a cell that a move to or from there is over, and its copy of no use."""
    DELETE_IN_ZONE = "delete_in_zone"
    """Tell the zone that has it, or may have it, until it says that nothing is left."""


@dataclasses.dataclass(frozen=True)
class Cleanup:
    """A word of ``CleanupTask`` for an instance, and the cell or zone, and the move of a copy."""

    instance_uuid: str
    task: str
    cell_uuid: str | None
    context: dict[str, Any]
    migration_uuid: str | None = None
    zone_path: str | None = None


def add_deletes(
    session: Session, instance_uuids: Collection[str], cell_uuid: str, context: dict[str, Any]
) -> None:
    """Store that a cell (or cell0) is to delete these; free to be taken up at once."""
    _add(session, instance_uuids, CleanupTask.DELETE, cell_uuid, context)


def add_delete_elsewhere(
    session: Session, instance_uuid: str, cell_uuid: str, context: dict[str, Any]
) -> None:
    """Store that the other cell of a move is to delete an instance; free to be taken up at once."""
    _add(session, [instance_uuid], CleanupTask.DELETE_ELSEWHERE, cell_uuid, context)


def add_copy(
    session: Session,
    instance_uuid: str,
    cell_uuid: str,
    migration_uuid: str,
    context: dict[str, Any],
) -> None:
    """Store that a cell is to bury its copy; free to be taken up at once.

    One that waits for another move of the instance stays; a cell asks by itself, later.
    """
    _add(session, [instance_uuid], CleanupTask.DROP_COPY, cell_uuid, context, migration_uuid)


def add_releases(
    session: Session, instance_uuids: Collection[str], context: dict[str, Any]
) -> None:
    """Store that the allocations of these are to be released; free to be taken up at once."""
    _add(session, instance_uuids, CleanupTask.RELEASE, None, context)


def add_zone_delete(
    session: Session, instance_uuid: str, zone_path: str, context: dict[str, Any]
) -> None:
    """Store that a zone is to delete an instance; free to be taken up at once."""
    task = CleanupTask.DELETE_IN_ZONE
    _add(session, [instance_uuid], task, None, context, zone_path=zone_path)


def list_cleanups(session: Session, instance_uuids: Collection[str]) -> list[Cleanup]:
    """Return those that are still to be done."""
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
    """Say that this was done."""
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
