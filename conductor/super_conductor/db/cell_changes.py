"""Queries on cell changes: moves that may lead to another cell, and the cells involved."""

import dataclasses
from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row, insert_missing, update

Row = models.CellChange


@dataclasses.dataclass(frozen=True)
class CellChange:
    """A move between cells; ``target_cell_uuid`` is None until the destination is known."""

    migration_uuid: str
    instance_uuid: str
    source_cell_uuid: str
    target_cell_uuid: str | None
    created_at: datetime

    def has(self, cell_uuid: str) -> bool:
        """Return whether a cell is part of the move."""
        return cell_uuid in (self.source_cell_uuid, self.target_cell_uuid)

    def other(self, cell_uuid: str | None) -> str | None:
        """Return the other cell of the move; None if this cell is not part of it."""
        if cell_uuid == self.source_cell_uuid:
            return self.target_cell_uuid
        return self.source_cell_uuid if cell_uuid == self.target_cell_uuid else None


def allow(
    session: Session, migration_uuid: str, instance_uuid: str, cell_uuid: str, *, now: datetime
) -> None:
    """Allow a move to lead from this cell to another; idempotent.

    Earlier moves of the instance that could have changed cells but did not are deleted.
    """
    delete(
        session,
        Row,
        Row.instance_uuid == instance_uuid,
        Row.migration_uuid != migration_uuid,
        Row.target_cell_uuid.is_(None),
    )
    insert_missing(session, Row, [CellChange(migration_uuid, instance_uuid, cell_uuid, None, now)])


def set_target(session: Session, migration_uuid: str, cell_uuid: str) -> None:
    """Set the destination cell of a move, unless it is set."""
    update(
        session,
        Row,
        Row.migration_uuid == migration_uuid,
        Row.target_cell_uuid.is_(None),
        target_cell_uuid=cell_uuid,
    )


def find(session: Session, migration_uuid: str, *, locked: bool = False) -> CellChange | None:
    """Return a change that has not ended; ``locked`` locks its row."""
    query = sa.select(Row).where(Row.migration_uuid == migration_uuid)
    if locked:
        query = query.with_for_update()
    found = session.scalars(query.execution_options(populate_existing=True)).first()
    return None if found is None else from_row(CellChange, found)


def find_all(session: Session, migration_uuids: Collection[str]) -> dict[str, CellChange]:
    """Return the changes among these moves that have not ended, by move."""
    query = sa.select(Row).where(Row.migration_uuid.in_(migration_uuids))
    return {found.migration_uuid: from_row(CellChange, found) for found in session.scalars(query)}


def list_of(session: Session, instance_uuid: str) -> list[CellChange]:
    """Return the changes of an instance that have not ended."""
    query = sa.select(Row).where(Row.instance_uuid == instance_uuid)
    return [from_row(CellChange, found) for found in session.scalars(query)]


def known(session: Session, migration_uuids: Collection[str]) -> set[str]:
    """Return those of these moves that have not ended."""
    uuid = Row.migration_uuid
    return set(session.scalars(sa.select(uuid).where(uuid.in_(migration_uuids))))


def remove(session: Session, migration_uuid: str) -> None:
    """Delete a change that has ended."""
    delete(session, Row, Row.migration_uuid == migration_uuid)


def remove_of(session: Session, instance_uuid: str) -> None:
    """Delete the changes of an instance that is being deleted."""
    delete(session, Row, Row.instance_uuid == instance_uuid)
