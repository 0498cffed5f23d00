"""Supervision of workers by the parent, and its notifications to systemd."""

import logging
import os
import threading
import time

from armillary.service.systemd import Notifier
from armillary.service.worker_states import WorkerStates

LOG = logging.getLogger(__name__)

TICK_SECONDS = 0.1
START_EXTENSION_SECONDS = 60.0


class Supervisor:
    """Report READY when all workers are, and feed the watchdog while all of them are healthy.

    It does not manage processes: the launcher replaces dead ones, and systemd restarts a service
    whose watchdog is not fed.
    """

    def __init__(self, worker_states: WorkerStates, notifier: Notifier) -> None:
        self.worker_states = worker_states
        self._notifier = notifier
        self._pid = os.getpid()
        self._end = threading.Event()
        self._is_ready = False
        self._is_stopping = False
        self._next_extension = 0.0
        self._next_watchdog = 0.0
        self._silent: list[int] = []

    @property
    def is_here(self) -> bool:
        """Whether this process is the parent."""
        return os.getpid() == self._pid

    @property
    def heartbeat_seconds(self) -> float | None:
        """Interval of the workers' heartbeats, None if there is no watchdog."""
        watchdog_seconds = self._notifier.watchdog_seconds
        return watchdog_seconds / 4 if watchdog_seconds else None

    def start(self) -> None:
        """Start watching; without systemd there is nothing to do."""
        if self._notifier.is_enabled:
            threading.Thread(target=self._watch, name="supervisor", daemon=True).start()

    def end(self) -> None:
        self._end.set()

    def reloading(self) -> None:
        """Note that the workers are about to be reloaded."""
        self.worker_states.mark_reloading()
        self._is_ready = False
        self._notifier.reloading()

    def stopping(self) -> None:
        """Note that the service ends; called before its workers are stopped."""
        if not self._is_stopping:
            self._is_stopping = True
            self.worker_states.note_ending()
            self._notifier.stopping()

    def _watch(self) -> None:
        while not self._end.wait(TICK_SECONDS):
            self._tick(time.monotonic())

    def _tick(self, now: float) -> None:
        if self._is_stopping:
            return
        if not self._is_ready and self.worker_states.are_all_ready:
            self._is_ready = True
            self._notifier.ready()
        if not self.worker_states.was_ever_ready and now >= self._next_extension:
            self._next_extension = now + START_EXTENSION_SECONDS / 3
            self._notifier.starting(START_EXTENSION_SECONDS)
        if self._notifier.watchdog_seconds and now >= self._next_watchdog:
            self._feed_watchdog(now, self._notifier.watchdog_seconds)

    def _feed_watchdog(self, now: float, watchdog_seconds: float) -> None:
        self._next_watchdog = now + watchdog_seconds / 2
        silent = self.worker_states.silent_workers(watchdog_seconds)
        if not silent:
            self._notifier.watchdog()
        elif silent != self._silent:
            LOG.error("No heartbeat from worker(s) %s; systemd's watchdog is not fed", silent)
        self._silent = silent
