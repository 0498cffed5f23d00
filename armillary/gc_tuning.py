"""Garbage collector settings for long-lived service processes.

A full collection visits every object, a quarter of a million of them from imports alone, and runs
more often the more requests there are. Reference counting frees everything except cycles anyway.
"""

import gc

YOUNG_MAX = 20_000
"""Number of new objects that triggers a young-generation collection; Python's default is 700."""


def settle() -> None:
    """Exclude the current objects from all later collections; for a worker that has started."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, *gc.get_threshold()[1:])
