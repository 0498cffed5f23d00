"""Start of work that continues after an endpoint has answered."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from conductor.cell_conductor.base_task import Task
from conductor.common.leased_work import Release
from conductor.common.leases import Lease

LOG = logging.getLogger(__name__)


class BackgroundTasks:
    """Mixin with a worker pool."""

    _pool: WorkerPool

    def _begin(self, task: Task[Any], context: RequestContext, leases: Sequence[Lease]) -> None:
        """Run a task after the answer, or leave it to recovery when the pool is full."""
        self._submit(task, partial(task.run, context, leases), leases)

    def _submit(self, task: Task[Any], work: Callable[[], None], leases: Sequence[Lease]) -> None:
        if not leases:
            return
        try:
            self._pool.submit(work)
        except (WorkerPoolFull, RuntimeError) as error:
            LOG.info("Tasks left to recovery: %d (%s)", len(leases), error)
            task.release([Release(lease) for lease in leases])
