"""Usage of projects as placement counts it, for ``[quota] count_usage_from_placement``."""

from oslo_config import cfg

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.catalogue.quotas import PlacedUsage
from placement.interface import PlacementAPI

VCPU, PCPU, MEMORY_MB = "VCPU", "PCPU", "MEMORY_MB"


class PlacedUsageReader:
    """Reads usage from placement before the transaction that checks a quota begins."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, placement: PlacementAPI) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement

    def read(self, context: RequestContext, project_id: str) -> PlacedUsage | None:
        """Return a project's usage, None if usage is counted from the records.

        Raises Unavailable while placement does not answer.
        """
        if not self._conf.quota.count_usage_from_placement:
            return None
        with self._database.reader() as session:  # first: what is placed meanwhile counts as well
            changes = quotas_db.count_changes(session, project_id)
            unplaced = quotas_db.list_unplaced(session, project_id)
        used = self._placement.get_project_usage(context, project_id)
        return PlacedUsage(
            cores=used.get(VCPU, 0) + used.get(PCPU, 0),
            ram=used.get(MEMORY_MB, 0),
            unplaced=unplaced,
            changes=changes,
        )
