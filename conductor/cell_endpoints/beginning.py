"""Works that endpoints begin: they go on after the answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from conductor.cell_tasks.base import Task
from conductor.leases import Lease

LOG = logging.getLogger(__name__)


class Beginning:
    """Has a pool of workers."""

    _pool: WorkerPool

    def _begin(self, task: Task[Any], context: RequestContext, leases: Sequence[Lease]) -> None:
        """Go on after the answer, or, when there is no room for it, leave it to recovery."""
        self._submit(task, partial(task.run, context, leases), leases)

    def _submit(self, task: Task[Any], work: Callable[[], None], leases: Sequence[Lease]) -> None:
        if not leases:
            return
        try:
            self._pool.submit(work)
        except (WorkerPoolFull, RuntimeError) as error:
            LOG.info("%d works are left to recovery: %s", len(leases), error)
            task.put_off(leases)
