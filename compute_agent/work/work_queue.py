"""Work queue: one task at a time per instance, and a concurrency limit per kind and host."""

from __future__ import annotations

import collections
import dataclasses
import logging
import threading
import time
from collections.abc import Callable

from armillary import exception
from armillary.concurrency import WorkerPool

LOG = logging.getLogger(__name__)

Key = tuple[str, str]
"""Host and instance UUID."""
Limit = Callable[[], int]
"""Returns the current limit of concurrent tasks on one host; 0 means unlimited."""


def no_limit() -> int:
    """Return 0: unlimited."""
    return 0


class WorkQueue:
    """Runs tasks in four pools of equal size: builds, live migrations, snapshots, everything else.

    Thus neither of the first three delays a delete. The queue has no bound of its own: every
    queued task is in the journal, so there are at most as many as commands. Hosts are served in
    rotation.
    """

    def __init__(
        self,
        *,
        size: int,
        name: str,
        builds_per_host_max: Limit,
        copies_per_host_max: Limit = no_limit,
        snapshots_per_host_max: Limit = no_limit,
    ) -> None:
        self._builds = _Kind(size, f"{name}-build", builds_per_host_max)
        self._copies = _Kind(size, f"{name}-copy", copies_per_host_max)
        self._snapshots = _Kind(size, f"{name}-snapshot", snapshots_per_host_max)
        self._operations = _Kind(size, f"{name}-operation", no_limit)
        self._lock = threading.Lock()
        # All tasks by instance, the running one first.
        self._lines: dict[Key, collections.deque[_Work]] = {}
        self._is_closed = False

    def build(self, key: Key, run: Callable[[], None]) -> None:
        """Queue a build, behind the instance's earlier tasks and the host's limit."""
        self._add(_Work(key, self._builds, run))

    def copy(self, key: Key, run: Callable[[], None]) -> None:
        """Queue a live migration like a build; later tasks do not wait for its limit."""
        self._add(_Work(key, self._copies, run))

    def snapshot(self, key: Key, run: Callable[[], None]) -> None:
        """Queue a snapshot, behind the instance's earlier tasks and the host's limit."""
        self._add(_Work(key, self._snapshots, run))

    def operation(self, key: Key, run: Callable[[], None]) -> None:
        """Queue any other task, behind the instance's earlier tasks."""
        self._add(_Work(key, self._operations, run))

    def has_task(self, key: Key) -> bool:
        """Return whether a task for an instance is queued or running."""
        with self._lock:
            return key in self._lines

    def lift_limit(self, key: Key) -> None:
        """Let an instance's queued migration start immediately, because it was aborted."""
        with self._lock:
            line = self._lines.get(key)
            if line:
                self._lift_limit(line, len(line))
                self._start_ready()

    def shutdown(self, wait_seconds: float) -> bool:
        """Start no further tasks; return whether the running ones ended in time."""
        deadline = time.monotonic() + wait_seconds
        with self._lock:
            self._is_closed = True
        is_done = [
            kind.pool.shutdown(max(0.0, deadline - time.monotonic())) for kind in self._kinds
        ]
        return all(is_done)

    @property
    def _kinds(self) -> tuple[_Kind, ...]:
        return self._operations, self._builds, self._copies, self._snapshots

    def _add(self, work: _Work) -> None:
        with self._lock:
            if self._is_closed:
                return
            line = self._lines.setdefault(work.key, collections.deque())
            line.append(work)
            if len(line) == 1:
                work.kind.wait(work)
            else:
                self._lift_limit(line, len(line) - 1)
            self._start_ready()

    def _lift_limit(self, line: collections.deque[_Work], count: int) -> None:
        """Turn the first ``count`` queued migrations of an instance into ordinary tasks."""
        for place in range(count):
            work = line[place]
            if work.kind is not self._copies or (place == 0 and not work.kind.withdraw(work)):
                continue
            line[place] = dataclasses.replace(work, kind=self._operations)
            if place == 0:
                self._operations.wait(line[0])

    def _start_ready(self) -> None:
        for kind in self._kinds:
            while (work := kind.take()) is not None:
                kind.pool.submit(self._run, work)

    def _run(self, work: _Work) -> None:
        try:
            work.run()
        # It is still in the journal, and a periodic task resumes it.
        except exception.JournalUnwritable as error:
            LOG.debug("%s: work on host %s waits: %s", work.key[1], work.host, error)
        except exception.ArmillaryError as error:
            LOG.warning("%s: work on host %s failed: %s", work.key[1], work.host, error)
        except Exception:
            LOG.exception("%s: work on host %s failed", work.key[1], work.host)
        finally:
            self._done(work)

    def _done(self, work: _Work) -> None:
        with self._lock:
            work.kind.done(work)
            line = self._lines[work.key]
            line.popleft()
            if self._is_closed:
                return
            if line:
                line[0].kind.wait(line[0])
            else:
                del self._lines[work.key]
            self._start_ready()


class _Kind:
    """One kind of tasks, queued and running. Requires the queue's lock."""

    def __init__(self, size: int, name: str, per_host_max: Limit) -> None:
        # The counters limit concurrency; the pool's queue only bridges the end of a task and the
        # start of the next one.
        self.pool = WorkerPool(size, name, queue_size_max=size)
        self._size = size
        self._per_host_max = per_host_max
        self._waiting: dict[str, collections.deque[_Work]] = {}  # hosts in rotation order
        self._on_host: collections.Counter[str] = collections.Counter()
        self._running = 0

    def wait(self, work: _Work) -> None:
        """Queue a task until its host has capacity."""
        self._waiting.setdefault(work.host, collections.deque()).append(work)

    def withdraw(self, work: _Work) -> bool:
        """Remove a task from the queue; False if it is already running."""
        line = self._waiting.get(work.host, collections.deque())
        if work not in line:
            return False
        line.remove(work)
        if not line:
            del self._waiting[work.host]
        return True

    def take(self) -> _Work | None:
        """Return a task of the next host with capacity, and move that host to the end."""
        if self._running >= self._size:
            return None
        limit = self._per_host_max() or self._size
        for host, line in self._waiting.items():
            if self._on_host[host] >= limit:
                continue
            work = line.popleft()
            del self._waiting[host]
            if line:
                self._waiting[host] = line
            self._on_host[host] += 1
            self._running += 1
            return work
        return None

    def done(self, work: _Work) -> None:
        """Record the end of a task and free its capacity."""
        self._running -= 1
        self._on_host[work.host] -= 1
        if not self._on_host[work.host]:
            del self._on_host[work.host]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Work:
    key: Key
    kind: _Kind
    run: Callable[[], None]

    @property
    def host(self) -> str:
        return self.key[0]
