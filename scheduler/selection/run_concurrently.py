"""Concurrent execution of several functions in a worker pool."""

from collections.abc import Callable, Sequence

from armillary.concurrency import WorkerPool, WorkerPoolFull

Work = Callable[[], None]


def run_concurrently(pool: WorkerPool, works: Sequence[Work]) -> None:
    """Run all functions concurrently, the first in this thread; return when all are done."""
    first, *others = works
    futures = []
    left = [first]
    for work in others:
        try:
            futures.append(pool.submit(work))
        except (WorkerPoolFull, RuntimeError):  # RuntimeError during shutdown
            left.append(work)
    for work in left:
        work()
    for future in futures:
        future.result()
