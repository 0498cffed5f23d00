"""Python's garbage collector, set for services: they live long, and most of what they have stays.

A full collection looks at every object there is, a quarter of a million of them only from imports,
and comes the more often the more requests there are. Reference counts free all but cycles anyway.
"""

from __future__ import annotations

import gc

YOUNG_MAX = 20_000
"""So many objects more than before make the collector look at the young ones; Python has 700."""


def settle() -> None:
    """Leave what is there now out of all collections to come; for a worker that has started."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, *gc.get_threshold()[1:])
