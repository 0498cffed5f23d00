"""Work for instances, in order: one thing at a time for each, so many builds for a host."""

from __future__ import annotations

import collections
import dataclasses
import logging
import threading
import time
from collections.abc import Callable

from armillary.concurrency import WorkerPool

LOG = logging.getLogger(__name__)

Key = tuple[str, str]
"""Host and instance UUID."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Work:
    key: Key
    is_build: bool
    run: Callable[[], None]

    @property
    def host(self) -> str:
        return self.key[0]


class WorkQueue:
    """Runs work in two pools of equal size, so that builds never keep a delete from its turn.

    What waits is kept here and written down in the journal before, so there is no other bound: it
    is at most what the hosts were told to build and delete. Hosts take turns.
    ``builds_per_host_max`` is asked anew each time; 0 is no limit.
    """

    def __init__(self, *, size: int, name: str, builds_per_host_max: Callable[[], int]) -> None:
        self._size = size
        self._builds_per_host_max = builds_per_host_max
        # Our own counts say how much runs; the pools' queues only hold what starts while another
        # one ends.
        self._builds = WorkerPool(size, f"{name}-build", queue_size_max=size)
        self._chores = WorkerPool(size, f"{name}-chore", queue_size_max=size)
        self._lock = threading.Lock()
        # All work of an instance, what runs first.
        self._lines: dict[Key, collections.deque[_Work]] = {}
        # What may start; hosts in the order of their turns.
        self._ready_builds: dict[str, collections.deque[_Work]] = {}
        self._ready_chores: collections.deque[_Work] = collections.deque()
        self._building: collections.Counter[str] = collections.Counter()
        self._builds_running = 0
        self._chores_running = 0
        self._is_closed = False

    def build(self, key: Key, run: Callable[[], None]) -> None:
        """Run a build when the instance's earlier work is done and the host has room."""
        self._add(_Work(key, True, run))

    def chore(self, key: Key, run: Callable[[], None]) -> None:
        """Run anything else when the instance's earlier work is done."""
        self._add(_Work(key, False, run))

    def is_in_hand(self, key: Key) -> bool:
        """Return whether work for an instance waits or runs."""
        with self._lock:
            return key in self._lines

    def shutdown(self, wait_seconds: float) -> bool:
        """Begin no further work; return whether what runs ended in time."""
        deadline = time.monotonic() + wait_seconds
        with self._lock:
            self._is_closed = True
        is_done = [
            pool.shutdown(max(0.0, deadline - time.monotonic()))
            for pool in (self._builds, self._chores)
        ]
        return all(is_done)

    def _add(self, work: _Work) -> None:
        with self._lock:
            if self._is_closed:
                return
            line = self._lines.setdefault(work.key, collections.deque())
            line.append(work)
            if len(line) == 1:
                self._make_ready(work)
                self._start_what_may()

    def _make_ready(self, work: _Work) -> None:
        if work.is_build:
            self._ready_builds.setdefault(work.host, collections.deque()).append(work)
        else:
            self._ready_chores.append(work)

    def _start_what_may(self) -> None:
        while self._ready_chores and self._chores_running < self._size:
            self._chores_running += 1
            self._chores.submit(self._run, self._ready_chores.popleft())
        limit = self._builds_per_host_max() or self._size
        while self._builds_running < self._size and self._start_a_build(limit):
            pass

    def _start_a_build(self, limit: int) -> bool:
        """Start the build of the next host with room, and put that host behind the others."""
        for host, line in self._ready_builds.items():
            if self._building[host] >= limit:
                continue
            work = line.popleft()
            del self._ready_builds[host]
            if line:
                self._ready_builds[host] = line
            self._building[host] += 1
            self._builds_running += 1
            self._builds.submit(self._run, work)
            return True
        return False

    def _run(self, work: _Work) -> None:
        try:
            work.run()
        except Exception:
            # It is still in the journal, and a periodic task takes it up again.
            LOG.exception("%s: work on host %s failed", work.key[1], work.host)
        finally:
            self._done(work)

    def _done(self, work: _Work) -> None:
        with self._lock:
            if work.is_build:
                self._building[work.host] -= 1
                self._builds_running -= 1
            else:
                self._chores_running -= 1
            line = self._lines[work.key]
            line.popleft()
            if self._is_closed:
                return
            if line:
                self._make_ready(line[0])
            else:
                del self._lines[work.key]
            self._start_what_may()
