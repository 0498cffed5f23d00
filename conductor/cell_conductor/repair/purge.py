"""Purge of instances that were deleted long ago, and of old removals of hosts."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg

from armillary.db import Database
from conductor.common.cell_db import host_seq, instances
from conductor.common.clock import Clock, moment

PURGE_BATCH_SIZE = 500
REMOVALS_KEEP_DAYS = 7


class Purge:
    """Periodic task of every conductor of a cell."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._now_seconds = now

    def run(self) -> int:
        """Purge instances deleted for ``[cell] instance_keep_deleted_days``; return how many."""
        now = moment(self._now_seconds())
        keep = timedelta(days=self._conf.cell.instance_keep_deleted_days)
        self._database.run_in_writer(
            lambda session: host_seq.purge_removals(
                session, before=now - timedelta(days=REMOVALS_KEEP_DAYS)
            )
        )
        total = 0
        while True:
            count = self._database.run_in_writer(
                lambda session: instances.purge(
                    session, deleted_before=now - keep, limit=PURGE_BATCH_SIZE
                )
            )
            total += count
            if count < PURGE_BATCH_SIZE:
                return total
