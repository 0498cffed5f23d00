"""Seconds since boot, for leases: unlike the monotonic clock it runs during a suspend."""

import time


def seconds() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
