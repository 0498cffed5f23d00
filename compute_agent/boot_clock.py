"""Seconds since boot, for leases: unlike the monotonic clock it goes on during a suspend."""

import time


def seconds() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
