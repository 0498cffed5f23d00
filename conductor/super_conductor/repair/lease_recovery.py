"""Recovery: resume work whose lease has expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary import service_metrics
from armillary.db import Database
from conductor.common.leases import Leases


class Recovery:
    """One scan of one table of leased rows, run as a periodic task by a manager.

    ``resume`` gets keys of free rows; those that expired first come first. It takes each lease by
    ``Leases.take`` itself, since other conductors scan at the same time, and it may leave some rows
    to the next scan.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        resume: Callable[[Sequence[str]], object],
        *,
        batch_size_max: int,
    ) -> None:
        self._database = database
        self._leases = leases
        self._resume = resume
        self._batch_size_max = batch_size_max

    def run(self) -> None:
        """Resume rows that are free now."""
        with self._database.reader() as session:
            keys = self._leases.list_free(session, limit=self._batch_size_max)
        service_metrics.record_orphaned_tasks(self._leases.table, len(keys))
        if keys:
            service_metrics.tasks_resumed(self._leases.table, len(keys))
            self._resume(keys)
