"""Recovery: resume work whose lease expired, and purge instances deleted long ago."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from oslo_config import cfg

from armillary import service_metrics
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.base_task import Task
from conductor.common.cell_db import host_seq, instances
from conductor.common.clock import Clock, moment

LOG = logging.getLogger(__name__)

PURGE_BATCH_SIZE = 500
REMOVALS_KEEP_DAYS = 7


class Recovery:
    """Periodic work of every conductor of a cell; leases prevent duplicate work."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        tasks: Sequence[Task[Any]],
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._tasks = tasks
        self._now_seconds = now

    def take_up(self) -> int:
        """Resume abandoned work, one batch per task; return the number of items."""
        limit = self._conf.conductor.recovery_batch_size_max
        with self._database.reader() as session:  # usually there is nothing to write
            lying = [task.leases.list_free(session, limit=1) for task in self._tasks]
        count = 0
        for task, keys in zip(self._tasks, lying, strict=True):
            leases = task.take_expired(limit) if keys else []
            service_metrics.record_orphaned_tasks(task.leases.table, len(leases))
            if leases:
                LOG.info("%s: resuming abandoned work; items: %d", type(task).__name__, len(leases))
                service_metrics.tasks_resumed(task.leases.table, len(leases))
                task.run(admin_context(), leases)
            count += len(leases)
        return count

    def purge(self) -> int:
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
