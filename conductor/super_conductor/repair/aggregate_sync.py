"""On-demand synchronisation of an aggregate's members in placement."""

from __future__ import annotations

import dataclasses
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import aggregates, host_mappings
from objects.aggregate import Aggregate
from placement.interface import PlacementAPI

_ROUNDS_MAX = 3


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """An aggregate and its hosts' compute nodes; None for a host that is not mapped."""

    aggregate: Aggregate
    nodes_of: dict[str, list[str] | None]

    @property
    def nodes(self) -> list[str]:
        return sorted({uuid for uuids in self.nodes_of.values() for uuid in uuids or ()})


class AggregateSync:
    """Does on demand what ``MetadataPublisher`` does periodically, and returns the differences."""

    def __init__(self, database: Database, placement: PlacementAPI) -> None:
        self._database = database
        self._placement = placement

    def sync(self, context: RequestContext, aggregate: str, *, dry_run: bool) -> dict[str, Any]:
        """Return what ``SuperConductorAPI.sync_aggregate`` promises. Raises AggregateNotFound."""
        wanted = self._read(aggregate)
        answer: dict[str, Any] = {
            "name": wanted.aggregate.name,
            "added": [],
            "removed": [],
            "unmapped_hosts": [host for host, nodes in wanted.nodes_of.items() if nodes is None],
            "hosts_without_nodes": [host for host, nodes in wanted.nodes_of.items() if nodes == []],
            "unknown_providers": [],
            "error": None,
            "failed": None,
        }
        step = "read"
        try:
            uuid = wanted.aggregate.uuid
            found = self._placement.get_aggregate_members(context, uuid, wanted.nodes)
            members, known = set(found["members"]), set(wanted.nodes) - set(found["unknown"])
            answer["unknown_providers"] = sorted(found["unknown"])
            answer["added"] = sorted(known - members)
            answer["removed"] = sorted(members - known)
            if members != known and not dry_run:
                step = "write"
                self._write(context, wanted)
        except exception.ArmillaryError as error:
            answer |= {"error": error.message, "failed": step}
        return answer

    def _write(self, context: RequestContext, wanted: _Wanted) -> None:
        """Write the members to placement, and again if the aggregate changed meanwhile."""
        uuid = wanted.aggregate.uuid
        for _ in range(_ROUNDS_MAX):
            self._placement.set_aggregate_members(context, uuid, wanted.nodes)
            told, wanted = wanted, self._read(uuid)
            if wanted.nodes == told.nodes:
                return

    def _read(self, aggregate: str) -> _Wanted:
        with self._database.reader() as session:
            found = aggregates.get_aggregate(session, aggregate)
            return _Wanted(found, host_mappings.nodes_by_host(session, found.hosts))
