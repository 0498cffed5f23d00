"""Members of aggregates in placement: the compute nodes of an aggregate's hosts."""

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import host_mappings, metadata_seq
from conductor.super_conductor.db.catalogue import aggregates
from placement.interface import PlacementAPI


class AggregateMembers:
    """Sends the members that an aggregate has now; of several messages the newest one stands."""

    def __init__(self, database: Database, placement: PlacementAPI) -> None:
        self._database = database
        self._placement = placement

    def send(self, context: RequestContext, aggregate_uuid: str) -> None:
        """Set an aggregate's members in placement. Raises what a call of placement raises."""
        later = self._send(context, aggregate_uuid)
        if later is not None:  # perhaps of before the database was restored from a backup
            self._send(context, aggregate_uuid, after=later)

    def _send(self, context: RequestContext, aggregate_uuid: str, *, after: int = 0) -> int | None:
        number, members = self._database.run_in_writer(_numbered, aggregate_uuid, after)
        return self._placement.set_aggregate_members(context, aggregate_uuid, members, order=number)


def _numbered(session: Session, aggregate_uuid: str, after: int) -> tuple[int, list[str]]:
    """Return the number of a message, and the nodes of an aggregate's hosts; none if it is gone."""
    number = metadata_seq.next_members_number(session, after=after)
    try:
        hosts = aggregates.get_aggregate(session, aggregate_uuid).hosts
    except exception.AggregateNotFound:
        return number, []
    return number, host_mappings.node_uuids_of(session, hosts)
