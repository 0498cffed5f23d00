"""Changes of servers that no cell has yet: they are made as soon as one has them."""

from __future__ import annotations

import time
from collections.abc import Callable

from armillary import exception
from armillary.backoff import Backoff

WAIT_SECONDS_MAX = 10.0
"""How long scheduling may take; the change is then refused."""
_INTERVALS = Backoff(0.05, 0.5)


def once_scheduled(
    change: Callable[[], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Make a change, once the server is scheduled. Raises InstanceBeingScheduled if it is not."""
    end, tries = clock() + WAIT_SECONDS_MAX, 0
    while True:
        try:
            change()
        except exception.InstanceBeingScheduled:
            if clock() >= end:
                raise
        else:
            return
        sleep(_INTERVALS.seconds(tries))
        tries += 1
