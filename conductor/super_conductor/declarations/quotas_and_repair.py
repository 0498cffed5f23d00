"""Quotas, allocations, and repair by operators."""

from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from objects.allocations.allocation import AllocationPage
from objects.hosts.cluster_metadata import ClusterMetadataDict
from objects.instances.server_answers import CellServerMarker, CellServerPage
from objects.repair_answers import AggregateSyncResult, OrphanSearch
from rpc.callers import API, CONDUCTOR, OPERATOR, SCHEDULER
from rpc.interface import Idempotent, Interface, call


class QuotasAndRepairAPI(Interface):
    """Quotas, allocations, cells."""

    @call(API)
    def get_quotas(self, context: RequestContext, project_id: str) -> dict[str, dict[str, int]]:
        """Return resource -> {"limit", "in_use"}; -1 is unlimited.

        Without a project's id: the defaults for all projects.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        """Set limits of a project, without its id the defaults for all projects.

        Raises Invalid for an unknown resource or an invalid limit.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def reset_quotas(self, context: RequestContext, project_id: str) -> None:
        """Delete the limits set for a project: the defaults are its limits again."""

    @call(API)
    def list_allocations(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> AllocationPage:
        """Return what PlacementAPI.list_allocations and get_usage_totals return."""

    @call(OPERATOR)
    def find_orphans(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of at most 1,000 consumers of the server type are orphans.

        ``consumers``: UUID -> UUIDs of the providers that it has allocations on. A server that is
        being deleted exists until that is done. Raises Invalid.
        """

    @call(OPERATOR)
    def find_orphan_migrations(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of these consumers belong to no migration that is still running.

        As ``find_orphans``, for consumers of the type MIGRATION.
        """

    @call(OPERATOR)
    def find_orphan_claims(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        """Return which of these consumers belong to no claim; as ``find_orphans``, for CLAIM."""

    @call(OPERATOR)
    def list_cell_servers(
        self, context: RequestContext, *, limit: int, marker: CellServerMarker | None = None
    ) -> CellServerPage:
        """Return a page of living servers as their cell has them.

        Each has the UUID of its consumer in placement. Servers in other zones, and those being
        built or deleted, are left out. Raises Invalid for a limit above 1000.
        """

    @call(OPERATOR)
    def sync_aggregate(
        self, context: RequestContext, aggregate: str, *, dry_run: bool
    ) -> AggregateSyncResult:
        """Set placement's aggregate to exactly the compute nodes of an aggregate's hosts.

        A dry run changes nothing. Raises AggregateNotFound.
        """

    @call(SCHEDULER, CONDUCTOR)
    def get_cluster_metadata(self, context: RequestContext) -> ClusterMetadataDict:
        """Return the metadata that every scheduler needs."""
