"""The parent's view of its workers, and what it tells systemd of them."""

from __future__ import annotations

import logging
import os
import threading
import time

from armillary.service.systemd import Notifier
from armillary.service.worker_board import WorkerBoard

LOG = logging.getLogger(__name__)

TICK_SECONDS = 0.1
START_EXTENSION_SECONDS = 60.0


class Supervisor:
    """Says READY when all workers are, and feeds the watchdog while each of them shows to be well.

    It decides nothing about processes: the launcher replaces the dead ones, systemd restarts a
    service whose watchdog starves.
    """

    def __init__(self, board: WorkerBoard, notifier: Notifier) -> None:
        self.board = board
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
        """How often workers have to show that they are well, None when nobody wants to know."""
        watchdog_seconds = self._notifier.watchdog_seconds
        return watchdog_seconds / 4 if watchdog_seconds else None

    def start(self) -> None:
        """Begin to watch; a parent without systemd has nobody to tell."""
        if self._notifier.is_enabled:
            threading.Thread(target=self._watch, name="supervisor", daemon=True).start()

    def end(self) -> None:
        self._end.set()

    def reloading(self) -> None:
        """Note that the workers are about to be told to reload."""
        self.board.mark_reloading()
        self._is_ready = False
        self._notifier.reloading()

    def stopping(self) -> None:
        """Note that the service ends."""
        if not self._is_stopping:
            self._is_stopping = True
            self._notifier.stopping()

    def _watch(self) -> None:
        while not self._end.wait(TICK_SECONDS):
            self._tick(time.monotonic())

    def _tick(self, now: float) -> None:
        if self._is_stopping:
            return
        if not self._is_ready and self.board.are_all_ready:
            self._is_ready = True
            self._notifier.ready()
        if not self.board.was_ever_ready and now >= self._next_extension:
            self._next_extension = now + START_EXTENSION_SECONDS / 3
            self._notifier.starting(START_EXTENSION_SECONDS)
        if self._notifier.watchdog_seconds and now >= self._next_watchdog:
            self._feed_watchdog(now, self._notifier.watchdog_seconds)

    def _feed_watchdog(self, now: float, watchdog_seconds: float) -> None:
        self._next_watchdog = now + watchdog_seconds / 2
        silent = self.board.silent_workers(watchdog_seconds)
        if not silent:
            self._notifier.watchdog()
        elif silent != self._silent:
            LOG.error("No sign of life from worker(s) %s; systemd's watchdog is not fed", silent)
        self._silent = silent
