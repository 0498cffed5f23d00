"""Several managers in one process: started in order, stopped in reverse, signals shared."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from oslo_config import cfg

from armillary import concurrency
from armillary.conf import loader
from armillary.metrics import tracing
from armillary.service import backdoor, report
from armillary.service.managed import (
    Factory,
    ManagedService,
    exit_code_for,
    leave,
    log_failed_start,
)
from armillary.service.supervisor import Supervisor
from armillary.service.systemd import Notifier
from armillary.service.worker_states import WorkerStates

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_START_FAILED = 0  # not a signal number


class ServiceGroup:
    """Named managers that live and end together; each is made by its factory in ``start``."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        services: Sequence[tuple[str, Factory]],
        notifier: Notifier | None = None,
    ) -> None:
        self._conf = conf
        worker_states = WorkerStates(len(services))
        self.supervisor = Supervisor(worker_states, notifier or Notifier(None, None))
        self._waiting = [
            ManagedService(conf, name, factory, self.supervisor, worker_states.slot(index))
            for index, (name, factory) in enumerate(services)
        ]
        self._running: list[ManagedService] = []
        self._is_stopping = False

    def start(self) -> None:
        """Start all managers in order; if one fails, stop the running ones and raise its error."""
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
        """Drain all managers, the last started first; 0 seconds mean no limit.

        Periodic tasks end before any server stops, since they call the other services of the
        process; slow ones get half of the time.
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
            service.stop_scheduling_tasks()
        for service in self._running:
            service.finish_tasks(max(0.0, deadline - time.monotonic()))

    def reload(self) -> None:
        """Reload the configuration; managers are notified only if it is valid."""
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

    Must be called in the main thread. ``on_ready`` is called when all managers serve. Signals and
    systemd work as with ``launch``, except that SIGINT drains, too. A second signal ends the
    process immediately, and so does a drain that exceeds ``graceful_shutdown_timeout``.
    """
    concurrency.init_backend()
    report.install(conf, binary)
    report.watch_file(conf, binary)
    backdoor.open_here(conf)
    group = ServiceGroup(conf, services, Notifier.from_environment())
    starter = _Starter(conf, binary, group, on_ready)
    with _Events() as events:
        group.supervisor.start()
        threading.Thread(target=starter.run, args=(events,), name="start", daemon=True).start()
        while (event := events.next()) == signal.SIGHUP:
            group.reload()
        if event == _START_FAILED:
            assert starter.error is not None
            log_failed_start(conf, binary, starter.error)
            return exit_code_for(starter.error)
        events.exit_on_next_signal()
        group.supervisor.stopping()
        if conf.graceful_shutdown_timeout:
            _exit_after(conf.graceful_shutdown_timeout)
        group.stop(conf.graceful_shutdown_timeout)
        group.supervisor.end()
        tracing.stop()
    return 0


class _Starter:
    """Starts the group in a thread, while the main thread waits for signals."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        binary: str,
        group: ServiceGroup,
        on_ready: Callable[[], None] | None,
    ) -> None:
        self._conf = conf
        self._binary = binary
        self._group = group
        self._on_ready = on_ready
        self.error: Exception | None = None

    def run(self, events: _Events) -> None:
        try:
            from armillary.metrics import metrics_server

            metrics_server.serve(self._conf, self._binary, 0)
            tracing.start(self._conf, self._binary)
            self._group.start()
            if self._on_ready is not None:
                self._on_ready()
        except Exception as error:
            self.error = error
            events.put(_START_FAILED)


class _Events:
    """Queue of signals.

    They arrive through a pipe, since a Python signal handler could run anywhere, even inside
    eventlet's hub, where it must not block.
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
        """Wait for the next signal of ours, or for a value from ``put``."""
        while True:
            select.select([self._read_end], [], [])
            number = os.read(self._read_end, 1)[0]
            if number in (*_SIGNALS, _START_FAILED):
                return number

    def exit_on_next_signal(self) -> None:
        """Let the next SIGTERM or SIGINT end the process immediately."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: leave(1))


def _exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, leave, args=(1,))
    timer.daemon = True
    timer.start()
