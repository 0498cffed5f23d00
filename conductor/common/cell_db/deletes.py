"""Queries on unfinished deletes."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.cell_db.leased_rows import LeasedRows

ROWS = LeasedRows(models.InstanceDelete)
lock = ROWS.lock


def remove(session: Session, instance_uuids: Collection[str]) -> None:
    session.execute(
        sa.delete(models.InstanceDelete)
        .where(models.InstanceDelete.instance_uuid.in_(instance_uuids))
        .execution_options(synchronize_session=False)
    )
