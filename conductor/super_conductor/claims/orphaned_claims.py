"""Orphans among the consumers of claims: those whose claim does not exist (any more)."""

from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import claims
from conductor.super_conductor.repair.orphaned_allocations import check_count
from objects.claims.resource_kinds import known_kinds
from objects.repair_answers import OrphanSearch
from placement.interface import PlacementAPI


class OrphanedClaims:
    """Endpoint, see ``SuperConductorAPI``."""

    def __init__(self, database: Database, placement: PlacementAPI) -> None:
        self._database = database
        self._placement = placement

    def find_orphan_claims(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        check_count(consumers)
        with self._database.reader() as session:
            gone = set(consumers) - claims.known(session, consumers)
        pools = self._pools(context) if gone else set()
        ours = {uuid for uuid in gone if not pools.isdisjoint(consumers[uuid])}
        return OrphanSearch(sorted(ours), sorted(gone - ours), unsure=[], down_cells=[])

    def _pools(self, context: RequestContext) -> set[str]:
        return {
            pool.uuid
            for kind in known_kinds().values()
            for pool in self._placement.list_pools(context, kind.trait)
        }
