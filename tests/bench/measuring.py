"""Time, memory and processors that something takes, and whether others kept the machine busy."""

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

BUSY_CPUS = 0.2
"""With more processors than this in use by others a figure is marked as disturbed."""

_SERVERS = ("postgres", "beam.smp", "erl_child_setup")
_TITLES = {"postgres": "PostgreSQL", "beam.smp": "RabbitMQ"}


@dataclass(frozen=True)
class Times:
    """Samples in seconds; ``others_cpus`` is how many processors others used meanwhile."""

    seconds: Sequence[float]
    elapsed_seconds: float = 0.0
    others_cpus: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.elapsed_seconds

    @property
    def is_disturbed(self) -> bool:
        return self.others_cpus > BUSY_CPUS

    def __str__(self) -> str:
        """Minimum, median and maximum in milliseconds, with a star where others were busy."""
        row = (min(self.seconds), self.median, max(self.seconds))
        text = " / ".join(milliseconds(value) for value in row)
        return text + "\\*" * self.is_disturbed


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, with three digits that mean something."""
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def three(seconds: Sequence[float]) -> str:
    """Return minimum, median and maximum in whole milliseconds."""
    row = (min(seconds), statistics.median(seconds), max(seconds))
    return " / ".join(f"{value * 1e3:.0f}" for value in row)


def repeated(
    work: Callable[[], object], rounds: int, *, pids: Iterable[int] = (), warm_up: int = 3
) -> Times:
    """Time so many rounds, after a few that fill the caches. ``pids`` work for us meanwhile."""
    for _ in range(warm_up):
        work()
    return each_timed([work] * rounds, pids=pids)


def each_timed(
    works: Sequence[Callable[[], object]], *, clients: int = 1, pids: Iterable[int] = ()
) -> Times:
    """Time each piece of work, done one after another or by several clients together."""
    watch = _OthersWatch(pids)
    samples: list[float] = []
    began = time.perf_counter()
    if clients == 1:
        _work_off(iter(works), samples)
    else:
        threads = [
            threading.Thread(target=_work_off, args=(iter(works[first::clients]), samples))
            for first in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elapsed = time.perf_counter() - began
    if len(samples) != len(works):
        raise RuntimeError(f"{len(works) - len(samples)} of {len(works)} failed: see above")
    return Times(samples, elapsed, watch.others_cpus())


def _work_off(works: Iterable[Callable[[], object]], samples: list[float]) -> None:
    for work in works:
        began = time.perf_counter()
        work()
        samples.append(time.perf_counter() - began)


class _OthersWatch:
    """What the machine did since it was made, without us, our processes and the servers."""

    def __init__(self, pids: Iterable[int]) -> None:
        processes = psutil.process_iter(["name"])  # some may end meanwhile
        servers = [each.pid for each in processes if each.info["name"] in _SERVERS]
        self._pids = {psutil.Process().pid, *pids, *servers}
        self._began = time.monotonic()
        self._busy, self._ours = _busy_seconds(), self._our_seconds()

    def others_cpus(self) -> float:
        seconds = max(0.01, time.monotonic() - self._began)
        ours = self._our_seconds() - self._ours
        return max(0.0, _busy_seconds() - self._busy - ours) / seconds

    def _our_seconds(self) -> float:
        total = 0.0
        for pid in self._pids:
            try:
                used = psutil.Process(pid).cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += used.user + used.system
        return total


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def cpu_seconds(processes: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Return the processor time used so far: by the caller, by kinds of processes, by servers.

    ``processes`` are kind and process ID; their children count as they do.
    """
    found = {"callers": _used(psutil.Process(os.getpid()))}
    for kind, pid in processes:
        root = psutil.Process(pid)
        used = sum(map(_used, [root, *root.children(recursive=True)]))
        found[kind] = found.get(kind, 0.0) + used
    for server in psutil.process_iter(["name", "cpu_times"]):  # some may end meanwhile
        title, times = _TITLES.get(server.info["name"]), server.info["cpu_times"]
        if title and times:
            found[title] = found.get(title, 0.0) + times.user + times.system
    return found


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def measured_apart(module: str, *arguments: str) -> Any:
    """Return what a module measures in a process of its own, which prints it as JSON."""
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def resident_bytes() -> int:
    """Return the memory that this process keeps."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # give back what only lies about
    return int(psutil.Process().memory_info().rss)
