"""Online data migrations of a cell's database."""

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary.db.online_migrations import OnlineMigration
from conductor.common.cell_db import models


def note_forced_down(session: Session, limit: int) -> int:
    """Give services that an earlier release forced down the time of it: now."""
    query = (
        sa.select(models.Service)
        .where(models.Service.forced_down, models.Service.forced_down_at.is_(None))
        .order_by(models.Service.uuid)
        .limit(limit)
    )
    rows = session.scalars(query.with_for_update()).all()
    for row in rows:
        row.forced_down_at = timeutils.utcnow(with_timezone=True).replace(microsecond=0)
    return len(rows)


ALL = (OnlineMigration("services_forced_down_at", note_forced_down),)
