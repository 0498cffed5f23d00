"""On-demand synchronisation of an aggregate's members in placement."""

import dataclasses

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.aggregate_members import AggregateMembers
from objects.aggregate import Aggregate
from objects.repair_answers import AggregateSyncResult
from placement.interface import PlacementAPI


@dataclasses.dataclass(frozen=True)
class _ExpectedMembers:
    """An aggregate and its hosts' compute nodes; None for a host that is not mapped."""

    aggregate: Aggregate
    nodes_of: dict[str, list[str] | None]

    @property
    def nodes(self) -> list[str]:
        return sorted({uuid for uuids in self.nodes_of.values() for uuid in uuids or ()})


class AggregateSync:
    """Endpoint: does on demand what ``MetadataPublisher`` does periodically."""

    def __init__(self, database: Database, placement: PlacementAPI) -> None:
        self._database = database
        self._placement = placement
        self._members = AggregateMembers(database, placement)

    def sync_aggregate(
        self, context: RequestContext, aggregate: str, *, dry_run: bool
    ) -> AggregateSyncResult:
        """See ``SuperConductorAPI``."""
        wanted = self._read(aggregate)
        result = AggregateSyncResult(
            name=wanted.aggregate.name,
            unmapped_hosts=[host for host, nodes in wanted.nodes_of.items() if nodes is None],
            hosts_without_nodes=[host for host, nodes in wanted.nodes_of.items() if nodes == []],
        )
        step = "read"
        try:
            uuid = wanted.aggregate.uuid
            found = self._placement.get_aggregate_members(context, uuid, wanted.nodes)
            members, known = set(found["members"]), set(wanted.nodes) - set(found["unknown"])
            result = dataclasses.replace(
                result,
                added=tuple(sorted(known - members)),
                removed=tuple(sorted(members - known)),
                unknown_providers=tuple(sorted(found["unknown"])),
            )
            if members != known and not dry_run:
                step = "write"
                self._members.send(context, uuid)
        except exception.ArmillaryError as error:
            return dataclasses.replace(result, error=error.message, failed=step)
        return result

    def _read(self, aggregate: str) -> _ExpectedMembers:
        with self._database.reader() as session:
            found = aggregates.get_aggregate(session, aggregate)
            return _ExpectedMembers(found, host_mappings.nodes_by_host(session, found.hosts))
