"""Several managers in one process: started in order, stopped in reverse, one set of signals."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from oslo_config import cfg

from armillary import concurrency, metrics
from armillary.conf import loader
from armillary.service import report
from armillary.service.managed import (
    Factory,
    ManagedService,
    exit_code_for,
    leave,
    say_broken_start,
)
from armillary.service.supervisor import Supervisor
from armillary.service.systemd import Notifier
from armillary.service.worker_board import WorkerBoard

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_START_FAILED = 0  # no signal has this number


class ServiceGroup:
    """Managers by name that live and end together; each made by its factory in ``start``."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        services: Sequence[tuple[str, Factory]],
        notifier: Notifier | None = None,
    ) -> None:
        self._conf = conf
        board = WorkerBoard(len(services))
        self.supervisor = Supervisor(board, notifier or Notifier(None, None))
        self._waiting = [
            ManagedService(conf, name, factory, self.supervisor, board.slot(index))
            for index, (name, factory) in enumerate(services)
        ]
        self._running: list[ManagedService] = []
        self._is_stopping = False

    def start(self) -> None:
        """Start all in their order; when one cannot, stop those that run and raise its error."""
        try:
            for service in self._waiting:
                if self._is_stopping:
                    return
                self._running.append(service)
                service.run()
        except BaseException:
            self.stop(0.0)
            raise

    def stop(self, grace_seconds: float) -> None:
        """Drain all, the last started first; 0 seconds mean no bound.

        Periodic tasks end before any server does, as they call the other services here; those that
        take long get half of the time.
        """
        self._is_stopping = True
        deadline = time.monotonic() + grace_seconds
        self._end_periodic_tasks(grace_seconds / 2 if grace_seconds else threading.TIMEOUT_MAX)
        while self._running:
            remaining = max(0.01, deadline - time.monotonic()) if grace_seconds else 0.0
            self._running.pop().drain(remaining)

    def _end_periodic_tasks(self, wait_seconds: float) -> None:
        deadline = time.monotonic() + wait_seconds
        for service in self._running:
            service.begin_no_task()
        for service in self._running:
            service.finish_tasks(max(0.0, deadline - time.monotonic()))

    def reload(self) -> None:
        """Read the configuration again; managers are told only when it has no mistake."""
        if not loader.mutate(self._conf):
            return
        self.supervisor.reloading()
        for service in self._running:
            service.reload()


def run_in_process(
    conf: cfg.ConfigOpts,
    services: Sequence[tuple[str, Factory]],
    *,
    binary: str,
    on_ready: Callable[[], None] | None = None,
) -> int:
    """Run managers in this process until SIGTERM or SIGINT, and return the exit code.

    For the main thread. ``on_ready`` is called when all of them serve. Signals and systemd are as
    with ``launch``, but for SIGINT, which drains, too; a second one ends at once, and so does a
    drain that takes longer than ``graceful_shutdown_timeout``.
    """
    concurrency.init_backend()
    report.install(conf, binary)
    report.watch_file(conf, binary)
    group = ServiceGroup(conf, services, Notifier.from_environment())
    starter = _Starter(conf, group, on_ready)
    with _Events() as events:
        group.supervisor.start()
        threading.Thread(target=starter.run, args=(events,), name="start", daemon=True).start()
        while (event := events.next()) == signal.SIGHUP:
            group.reload()
        if event == _START_FAILED:
            assert starter.error is not None
            say_broken_start(conf, binary, starter.error)
            return exit_code_for(starter.error)
        events.leave_at_the_next()
        group.supervisor.stopping()
        if conf.graceful_shutdown_timeout:
            _leave_after(conf.graceful_shutdown_timeout)
        group.stop(conf.graceful_shutdown_timeout)
        group.supervisor.end()
    return 0


class _Starter:
    """Starts the group beside the main thread, which has signals to wait for meanwhile."""

    def __init__(
        self, conf: cfg.ConfigOpts, group: ServiceGroup, on_ready: Callable[[], None] | None
    ) -> None:
        self._conf = conf
        self._group = group
        self._on_ready = on_ready
        self.error: Exception | None = None

    def run(self, events: _Events) -> None:
        try:
            metrics.serve(self._conf, 0)
            self._group.start()
            if self._on_ready is not None:
                self._on_ready()
        except Exception as error:
            self.error = error
            events.put(_START_FAILED)


class _Events:
    """Signals as a queue.

    They come through a pipe, as a handler in Python could run anywhere, even inside eventlet's hub,
    where nothing can be waited for.
    """

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)

    def __enter__(self) -> Self:
        self._old_handlers = {
            number: signal.signal(number, lambda _number, _frame: None) for number in _SIGNALS
        }
        self._old_fd = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        os.close(self._read_end)
        os.close(self._write_end)

    def put(self, number: int) -> None:
        os.write(self._write_end, bytes([number]))

    def next(self) -> int:
        """Wait for the next signal that is ours, or what was put."""
        while True:
            select.select([self._read_end], [], [])
            number = os.read(self._read_end, 1)[0]
            if number in (*_SIGNALS, _START_FAILED):
                return number

    def leave_at_the_next(self) -> None:
        """Let the next SIGTERM or SIGINT end the process at once."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: leave(1))


def _leave_after(seconds: float) -> None:
    timer = threading.Timer(seconds, leave, args=(1,))
    timer.daemon = True
    timer.start()
