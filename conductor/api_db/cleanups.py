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


@dataclasses.dataclass(frozen=True)
class Cleanup:
    """A word of ``CleanupTask`` for an instance, and the cell for a delete."""

    instance_uuid: str
    task: str
    cell_uuid: str | None
    context: dict[str, Any]


def add_deletes(
    session: Session, instance_uuids: Collection[str], cell_uuid: str, context: dict[str, Any]
) -> None:
    """Store that a cell (or cell0) is to delete these; free to be taken up at once."""
    _add(session, instance_uuids, CleanupTask.DELETE, cell_uuid, context)


def add_releases(
    session: Session, instance_uuids: Collection[str], context: dict[str, Any]
) -> None:
    """Store that the allocations of these are to be released; free to be taken up at once."""
    _add(session, instance_uuids, CleanupTask.RELEASE, None, context)


def list_cleanups(session: Session, instance_uuids: Collection[str]) -> list[Cleanup]:
    """Return those that are still to be done."""
    query = sa.select(models.Cleanup).where(models.Cleanup.instance_uuid.in_(instance_uuids))
    return [
        Cleanup(row.instance_uuid, row.task, row.cell_uuid, row.context)
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
) -> None:
    rows = [
        {
            "instance_uuid": uuid,
            "task": task,
            "cell_uuid": cell_uuid,
            "context": context,
            "lease_owner": None,
            "lease_expires_at": 0.0,
        }
        for uuid in instance_uuids
    ]
    insert_missing(session, models.Cleanup, rows)
