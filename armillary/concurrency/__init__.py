"""Concurrency backend (threads or eventlet) and bounded worker pools.

Imports only the standard library at module level, because ``bootstrap`` must patch it before
anything else is loaded.
"""

import os
import queue
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from armillary.conf import places

THREADING = "threading"
EVENTLET = "eventlet"
BACKENDS = (THREADING, EVENTLET)
ENVIRONMENT_VARIABLE = "ARMILLARY_CONCURRENCY_BACKEND"

P = ParamSpec("P")
T = TypeVar("T")

_SECTION = re.compile(r"^\[(?P<name>[^\]]+)\]")
_OPTION = re.compile(r"^concurrency_backend\s*[=:]\s*(?P<value>\S*)")
_selected: str | None = None  # per process: patching cannot be undone


def bootstrap(argv: Sequence[str], binary: str | None = None, *, runs_services: bool = True) -> str:
    """Select the backend of this process, patch what it needs, and return its name.

    Every console script calls this before it imports anything else. The backend is the first of:
    the environment variable ``ARMILLARY_CONCURRENCY_BACKEND``; ``[DEFAULT] concurrency_backend`` in
    the configuration files that ``argv`` names, else in the default locations of ``binary`` (the
    program's name unless given); threading. An unknown value in a file counts as threading here;
    ``conf.loader`` rejects it shortly after with the file's name. An unknown value in the
    environment ends the program. A program that runs no services starts sooner without the library
    for them.
    """
    global _selected
    wanted = _from_environment() or _from_files(argv, binary or places.binary_name(sys.argv[0]))
    silence_eventlet_deprecations()
    if wanted == EVENTLET:
        import eventlet

        eventlet.monkey_patch()  # makes psycopg2 yield while it waits for PostgreSQL
    else:
        # oslo imports eventlet anyway; its resolver is useless to threads, and slow to import.
        os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")
    if runs_services:
        _init_oslo_service(wanted)
    _selected = wanted
    return wanted


def backend() -> str:
    """Return the backend of this process; threading if ``bootstrap`` was not called."""
    return _selected or THREADING


def is_bootstrapped() -> bool:
    """Return whether ``bootstrap`` selected this process's backend; it does not run in tests."""
    return _selected is not None


def rpc_executor() -> str:
    """Return oslo.messaging's name for the executor of the backend."""
    return backend()


def init_backend() -> None:
    """Initialise oslo.service's backend in a process that never called ``bootstrap``."""
    if _selected is None:
        _init_oslo_service(THREADING)


def _init_oslo_service(name: str) -> None:
    from oslo_service import backend as oslo_backend

    oslo_backend.init_backend(oslo_backend.BackendType(name))


def silence_eventlet_deprecations() -> None:
    """Silence eventlet's deprecation warning: operators choose eventlet, and the manual says so."""
    warnings.filterwarnings("ignore", message=r"(?s).*\beventlet")  # case does not matter


def _from_environment() -> str | None:
    value = os.environ.get(ENVIRONMENT_VARIABLE)
    if not value:
        return None
    if value not in BACKENDS:
        allowed = ", ".join(BACKENDS)
        raise SystemExit(f"{ENVIRONMENT_VARIABLE}={value} is not allowed; allowed: {allowed}")
    return value


def _from_files(argv: Sequence[str], binary: str) -> str:
    found = THREADING
    for path in places.config_files(argv, binary):
        for value in _values_in(path):
            found = value
    return found if found in BACKENDS else THREADING


def _values_in(path: Path) -> Iterator[str]:
    """Yield the values in one file; ``conf.loader`` reports one that cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    section = ""
    for line in lines:
        if match := _SECTION.match(line):
            section = match["name"].strip()
        elif section == "DEFAULT" and (match := _OPTION.match(line)):
            yield match["value"].strip("\"'")


class WorkerPoolFull(Exception):
    """All workers of a pool are busy and its queue is full; the work was not accepted."""


class WorkerPool:
    """A fixed number of workers with a bounded queue; threads, or green threads under eventlet.

    ``submit`` never blocks: it raises ``WorkerPoolFull`` when ``queue_size_max`` calls are waiting,
    so that the caller decides how to handle overload. Workers are daemons: the process may end at
    any time.
    """

    def __init__(self, size: int, name: str, queue_size_max: int = 1000) -> None:
        if size < 1 or queue_size_max < 1:
            raise ValueError(f"pool {name}: size and queue_size_max must be at least 1")
        self.name = name
        self.size = size
        self._slots = threading.BoundedSemaphore(size + queue_size_max)  # this bounds the queue
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._changed = threading.Condition()
        self._pending: dict[Future[Any], None] = {}
        self._workers: list[threading.Thread] = []
        self._closed = False
        from armillary.metrics import service_metrics

        service_metrics.watch_pool(name, self._queue)

    def submit(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Schedule ``fn``; raise ``WorkerPoolFull`` or, after ``shutdown``, ``RuntimeError``."""
        if not self._slots.acquire(blocking=False):
            raise WorkerPoolFull(
                f"Pool {self.name} is full: {len(self._pending)} calls are running or waiting"
            )
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                self._slots.release()
                raise RuntimeError(f"pool {self.name} was shut down")
            self._pending[future] = None
            self._queue.put(lambda: self._run(future, lambda: fn(*args, **kwargs)))
            self._add_worker_if_useful()
        return future

    def shutdown(self, wait_seconds: float) -> bool:
        """Reject new work, wait for accepted work, then cancel what has not begun.

        Return whether everything ended in time; what still runs may end on its own or with the
        process.
        """
        deadline = time.monotonic() + wait_seconds
        with self._changed:
            self._closed = True
            while self._pending and (remaining := deadline - time.monotonic()) > 0:
                self._changed.wait(remaining)
            unfinished = list(self._pending)
        for future in unfinished:
            future.cancel()
        for _ in self._workers:
            self._queue.put(None)
        return not unfinished

    def _add_worker_if_useful(self) -> None:
        if len(self._workers) >= min(self.size, len(self._pending)):
            return
        name = f"{self.name}-{len(self._workers)}"
        worker = threading.Thread(target=self._work, name=name, daemon=True)
        self._workers.append(worker)
        worker.start()

    def _work(self) -> None:
        from armillary.context import log_context

        while (call := self._queue.get()) is not None:
            with log_context(None):  # not that of the last call, which log lines would carry
                call()
            del call  # else the last result lives until the next call

    def _run(self, future: Future[T], fn: Callable[[], T]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                self._run_into(future, fn)
            else:
                self._slots.release()
        finally:
            with self._changed:
                del self._pending[future]
                self._changed.notify_all()

    def _run_into(self, future: Future[T], fn: Callable[[], T]) -> None:
        try:
            result = fn()
        except BaseException as error:
            self._slots.release()  # before the result is set: the caller may then submit again
            future.set_exception(error)
        else:
            self._slots.release()
            future.set_result(result)
