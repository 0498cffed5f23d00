"""Hosts whose services were deleted: out of their mappings and aggregates.

That is requested of the cell first. If the conductor that asks for it is killed, or gets no answer,
discovery finds the host missing in its cell and does the rest.
"""

from sqlalchemy.orm import Session

from conductor.super_conductor.db import host_mappings, models
from conductor.super_conductor.db.catalogue import aggregates
from objects.aggregate import Aggregate


def forget(session: Session, host: str, cell_uuid: str) -> list[Aggregate]:
    """Remove a host's mapping and aggregate memberships; return its former aggregates.

    One that has another cell by now, or that was discovered again, is left alone.
    """
    mapping = session.get(models.HostMapping, host)
    if mapping is not None and (mapping.cell_uuid != cell_uuid or not mapping.is_leaving):
        return []
    lost = [one.uuid for one in aggregates.list_aggregates_of(session, host)]
    aggregates.remove_host_everywhere(session, host)
    host_mappings.delete_host_mapping(session, host)
    return [aggregates.get_aggregate(session, uuid) for uuid in lost]
