"""Lets the clock of one process go wrong: it is imported by every Python that has this folder.

The file that ``ARMILLARY_FAULTS_CLOCK`` names holds one number, the seconds by which the clock is
fast; it is shared memory, so it may change at any time. What goes by the system's clock is
``time.time`` and ``oslo_utils.timeutils.utcnow``; monotonic clocks are right everywhere.
"""

from __future__ import annotations

import datetime
import mmap
import os
import struct
import sys
import time
from pathlib import Path


def _install(path: str) -> None:
    from oslo_utils import timeutils

    with Path(path).open("rb") as file:
        shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    unpack = struct.Struct("d").unpack_from
    real_time, real_utcnow = time.time, timeutils.utcnow

    def skewed_time() -> float:
        return real_time() + unpack(shared)[0]

    def skewed_utcnow(with_timezone: bool = False) -> datetime.datetime:
        return real_utcnow(with_timezone) + datetime.timedelta(seconds=unpack(shared)[0])

    skewed_utcnow.override_time = None  # type: ignore[attr-defined]  # the library's own tests' way
    time.time = skewed_time
    timeutils.utcnow = skewed_utcnow


if "armillary" in "".join(sys.orig_argv) and os.environ.get("ARMILLARY_FAULTS_CLOCK"):
    _install(os.environ["ARMILLARY_FAULTS_CLOCK"])
