"""Lets the clock of one process go wrong: it is imported by every Python that has this folder.

The file that ``ARMILLARY_FAULTS_CLOCK`` names holds one number, the seconds by which the clock is
fast; it is shared memory, so it may change at any time. What goes by the system's clock is
``time.time`` and ``oslo_utils.timeutils.utcnow``; monotonic clocks are right everywhere.
"""

import datetime
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "ARMILLARY_FAULTS_CLOCK"

_seconds_fast: Callable[[], float] = lambda: 0.0  # noqa: E731


def install() -> None:
    """Put the clock of this process in place of the right one; it is right as yet."""
    from oslo_utils import timeutils

    real_time, real_utcnow = time.time, timeutils.utcnow

    def skewed_time() -> float:
        return real_time() + _seconds_fast()

    def skewed_utcnow(with_timezone: bool = False) -> datetime.datetime:
        return real_utcnow(with_timezone) + datetime.timedelta(seconds=_seconds_fast())

    skewed_utcnow.override_time = None  # type: ignore[attr-defined]  # the library's own tests' way
    time.time = skewed_time
    timeutils.utcnow = skewed_utcnow


def follow(environment: Mapping[str, str]) -> None:
    """Let the clock be as wrong as the file says that the environment names, if it names one."""
    global _seconds_fast
    if not environment.get(VARIABLE):
        return
    with Path(environment[VARIABLE]).open("rb") as file:
        shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    unpack = struct.Struct("d").unpack_from

    def seconds_fast() -> float:
        return float(unpack(shared)[0])

    _seconds_fast = seconds_fast


if "armillary" in "".join(sys.orig_argv) and os.environ.get(VARIABLE):
    install()
    follow(os.environ)
