"""Recovery: take up builds and deletes whose lease ran out; remove what was deleted long ago."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from oslo_config import cfg

from armillary import measures
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_db import host_seq, instances
from conductor.cell_tasks.base import Task
from conductor.moments import Now, moment

LOG = logging.getLogger(__name__)

PURGE_BATCH_SIZE = 500
REMOVALS_KEEP_DAYS = 7


class Recovery:
    """Periodic work of every conductor of a cell; leases keep them apart."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        tasks: Sequence[Task[Any]],
        now: Now,
    ) -> None:
        self._conf = conf
        self._database = database
        self._tasks = tasks
        self._now_seconds = now

    def take_up(self) -> int:
        """Go on with what was left lying, a batch of each task; return how many works."""
        limit = self._conf.conductor.recovery_batch_size_max
        with self._database.reader() as session:  # hardly ever is there anything to write
            lying = [task.leases.list_free(session, limit=1) for task in self._tasks]
        count = 0
        for task, keys in zip(self._tasks, lying, strict=True):
            leases = task.take_free(limit) if keys else []
            measures.works_found_lying(task.leases.table, len(leases))
            if leases:
                LOG.info("%s: taking up %d works", type(task).__name__, len(leases))
                measures.works_taken_up(task.leases.table, len(leases))
                task.run(admin_context(), leases)
            count += len(leases)
        return count

    def purge(self) -> int:
        """Remove instances past ``[cell] instance_keep_deleted_days``; return how many."""
        now = moment(self._now_seconds())
        keep = timedelta(days=self._conf.cell.instance_keep_deleted_days)
        self._database.run_in_writer(
            lambda session: host_seq.forget_removals(
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
