"""Do several things at the same time, as far as there are workers for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary.concurrency import WorkerPool, WorkerPoolFull

Work = Callable[[], None]


def side_by_side(pool: WorkerPool, works: Sequence[Work]) -> None:
    """Do all of them, the first one here, and return when all are done."""
    first, *others = works
    futures = []
    left = [first]
    for work in others:
        try:
            futures.append(pool.submit(work))
        except (WorkerPoolFull, RuntimeError):  # the latter when the process is about to end
            left.append(work)
    for work in left:
        work()
    for future in futures:
        future.result()
