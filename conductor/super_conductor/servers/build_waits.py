"""Reasons why builds wait: the service that the last try could not reach."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import models
from conductor.super_conductor.db.reservations import Stage
from objects.instances.explanation import BuildWait

_MESSAGES = {
    Stage.SCHEDULING: "No decision about its host could be made so far.",
    Stage.CELL_HANDOVER: (
        "The cell of its host does not answer. The build continues when the cell is back."
    ),
    Stage.WALKING: (
        "Zones that may have a host do not answer. The build continues when one is back."
    ),
    Stage.STORING_IN_CELL0: "No host was found, and this could not be recorded so far.",
}


def find(session: Session, instance_uuid: str) -> BuildWait | None:
    """Return why an instance's build waits; None if no try has failed, or a cell has it."""
    row, selection = models.Reservation, models.BuildSelection
    query = (
        sa.select(row.stage, row.accepted_at, models.Cell.name, row.failure)
        .join(models.BuildRequest, models.BuildRequest.reservation_id == row.reservation_id)
        .outerjoin(selection, selection.instance_uuid == models.BuildRequest.instance_uuid)
        .outerjoin(models.Cell, models.Cell.uuid == selection.cell_uuid)
        .where(models.BuildRequest.instance_uuid == instance_uuid, row.failure.is_not(None))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    stage, since, cell, reason = found
    return BuildWait(since, _MESSAGES[stage], cell, reason)
