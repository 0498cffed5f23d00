"""Queries on unfinished deletes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models


def list_by_uuids(
    session: Session, instance_uuids: Collection[str]
) -> Sequence[models.InstanceDelete]:
    """Return the unfinished deletes of these instances."""
    query = sa.select(models.InstanceDelete).where(
        models.InstanceDelete.instance_uuid.in_(instance_uuids)
    )
    return session.scalars(query).all()


def lock(session: Session, instance_uuid: str) -> models.InstanceDelete | None:
    """Lock a delete, after its instance; None if there is none."""
    return lock_all(session, [instance_uuid]).get(instance_uuid)


def lock_all(session: Session, instance_uuids: Collection[str]) -> dict[str, models.InstanceDelete]:
    """Lock deletes, after their instances; return them by instance."""
    query = (
        sa.select(models.InstanceDelete)
        .where(models.InstanceDelete.instance_uuid.in_(instance_uuids))
        .order_by(models.InstanceDelete.instance_uuid)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {row.instance_uuid: row for row in session.scalars(query)}


def remove(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the rows of deletes that have ended."""
    session.execute(
        sa.delete(models.InstanceDelete)
        .where(models.InstanceDelete.instance_uuid.in_(instance_uuids))
        .execution_options(synchronize_session=False)
    )
