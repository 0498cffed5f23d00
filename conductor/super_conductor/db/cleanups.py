"""Queries on cleanups: work left for instances that their users no longer see."""

import dataclasses
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row, insert_missing


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
    """A cleanup of an instance, with the cell or zone, and the migration of a copy.

    A new one is free to be leased immediately.
    """

    instance_uuid: str
    task: str
    context: RequestContext
    cell_uuid: str | None = None
    migration_uuid: str | None = None
    zone_path: str | None = None
    lease_owner: str | None = None
    lease_expires_at: float = 0.0


def add(session: Session, *rows: Cleanup) -> None:
    """Add cleanups; one of the same kind for the same instance is kept as it is.

    So a dropped copy waits for another move's, and the cell asks about leftover copies itself.
    """
    insert_missing(session, models.Cleanup, rows)


def add_releases(
    session: Session, instance_uuids: Collection[str], context: RequestContext
) -> None:
    """Add the release of the allocations of these instances."""
    add(session, *(Cleanup(uuid, CleanupKind.RELEASE, context) for uuid in instance_uuids))


def list_cleanups(session: Session, instance_uuids: Collection[str]) -> list[Cleanup]:
    """Return the pending cleanups of these instances."""
    query = sa.select(models.Cleanup).where(models.Cleanup.instance_uuid.in_(instance_uuids))
    return [from_row(Cleanup, row) for row in session.scalars(query)]


def delete_cleanups(session: Session, instance_uuids: Collection[str], task: str) -> None:
    """Delete cleanups that were completed."""
    delete(
        session,
        models.Cleanup,
        models.Cleanup.instance_uuid.in_(instance_uuids),
        models.Cleanup.task == task,
    )
