"""Usage of projects as placement counts it, for ``[quota] count_usage_from_placement``."""

from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.catalogue.quotas import PlacedUsage, UsageChanged
from placement.interface import PlacementAPI

T = TypeVar("T")

VCPU, PCPU, MEMORY_MB = "VCPU", "PCPU", "MEMORY_MB"
READS_MAX = 3
"""Maximum number of reads for one request while others of its project are accepted meanwhile."""


class PlacedUsageReader:
    """Reads usage from placement before the transaction that checks a quota begins."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, placement: PlacementAPI) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement

    def read(
        self, context: RequestContext, project_id: str, *, is_last: bool = True
    ) -> PlacedUsage | None:
        """Return a project's usage, None if usage is counted from the records.

        Raises Unavailable while placement does not answer.
        """
        if not self._conf.quota.count_usage_from_placement:
            return None
        with self._database.reader() as session:
            changes = quotas_db.count_changes(session, project_id)
            unplaced = quotas_db.list_unplaced(session, project_id)
            scheduled = quotas_db.list_scheduled(session, project_id)
        used = self._placement.get_project_usage(context, project_id, without=scheduled)
        return PlacedUsage(
            cores=used.get(VCPU, 0) + used.get(PCPU, 0),
            ram=used.get(MEMORY_MB, 0),
            unplaced=unplaced,
            changes=changes,
            is_last=is_last,
        )

    def store_within(
        self, context: RequestContext, project_id: str, store: Callable[[PlacedUsage | None], T]
    ) -> T:
        """Return what ``store`` does with a project's usage, which it checks in a transaction.

        It is called again if another request of the project was accepted since the usage was read.
        """
        for _ in range(READS_MAX - 1):
            try:
                return store(self.read(context, project_id, is_last=False))
            except UsageChanged:
                continue
        return store(self.read(context, project_id))
