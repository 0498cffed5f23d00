"""Queries on unfinished operations."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Move
from conductor.common.cell_db.leased_rows import LeasedRows

ROWS = LeasedRows(models.InstanceOperation)
lock = ROWS.lock


def list_ends(session: Session) -> set[tuple[str, str]]:
    """Return (instance, host) for both ends of unfinished moves."""
    query = sa.select(models.InstanceOperation.instance_uuid, models.InstanceOperation.flow_state)
    return {
        (uuid, host)
        for uuid, flow_state in session.execute(query)
        for host in Move.from_stored(flow_state).hosts
    }
