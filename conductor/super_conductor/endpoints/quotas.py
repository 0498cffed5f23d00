"""Quotas: a project's limits and usage; allocations and usage totals from placement."""

from oslo_config import cfg

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.db import quotas as quotas_db
from objects.allocation import AllocationPage
from placement.interface import PlacementAPI


class QuotasEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database) -> None:
        self._conf = conf
        self._database = database

    def get_quotas(self, context: RequestContext, project_id: str) -> dict[str, dict[str, int]]:
        with self._database.reader() as session:
            limits = quotas_db.get_limits(session, project_id)
            used = quotas_db.count_usage(session, project_id)
        return {
            name: {"limit": limits.get(name, self._conf.quota[name]), "in_use": used.get(name, 0)}
            for name in quotas.RESOURCES
        }

    def update_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        quotas.check_limits(limits)
        self._database.run_in_writer(
            lambda session: quotas_db.set_limits(session, project_id, limits)
        )
        return self.get_quotas(context, project_id)


class AllocationsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, placement: PlacementAPI) -> None:
        self._placement = placement

    def list_allocations(
        self, context: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> AllocationPage:
        found = self._placement.list_allocations(context, marker=marker, limit=limit)
        return AllocationPage(found, self._placement.get_usage_totals(context))
