"""Queries on unfinished operations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Move


def list_by_uuids(
    session: Session, instance_uuids: Collection[str]
) -> Sequence[models.InstanceOperation]:
    """Return the unfinished operations on these instances."""
    return session.scalars(_BY_UUIDS, {"uuids": [*instance_uuids]}).all()


def list_ends(session: Session) -> set[tuple[str, str]]:
    """Return (instance, host) for both ends of unfinished moves."""
    query = sa.select(models.InstanceOperation.instance_uuid, models.InstanceOperation.flow_state)
    return {
        (uuid, host)
        for uuid, flow_state in session.execute(query)
        for host in Move.from_stored(flow_state).hosts
    }


def lock(session: Session, instance_uuid: str) -> models.InstanceOperation | None:
    """Lock an operation, after its instance; None if there is none."""
    return lock_all(session, [instance_uuid]).get(instance_uuid)


def lock_all(
    session: Session, instance_uuids: Collection[str]
) -> dict[str, models.InstanceOperation]:
    """Lock operations, after their instances; return them by instance."""
    found = session.scalars(_LOCK, {"uuids": [*instance_uuids]})
    return {row.instance_uuid: row for row in found}


_BY_UUIDS = sa.select(models.InstanceOperation).where(
    models.InstanceOperation.instance_uuid.in_(sa.bindparam("uuids", expanding=True))
)
_LOCK = (
    _BY_UUIDS.order_by(models.InstanceOperation.instance_uuid)
    .with_for_update()
    .execution_options(populate_existing=True)
)
"""Built once: building a statement costs more than executing it."""
