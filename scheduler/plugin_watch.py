"""Keep a plugin that does not come back from taking the whole scheduler with it."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from scheduler import plugin_calls
from scheduler.plugin_calls import Call

LOG = logging.getLogger(__name__)

T = TypeVar("T")

_WORKERS = 64  # as many as there are threads for calls
_WAITING_MAX = 10_000
_LOOK_SECONDS_MAX = 0.5


class PluginStuck(Exception):
    """A plugin has been asked and does not answer; no decision can be made until it does."""

    def __init__(self, call: Call, allowed_seconds: float) -> None:
        self.plugin = type(call.plugin).__name__
        super().__init__(
            f"{self.plugin} is stuck: it has not answered for {call.seconds:.0f} s, [scheduler] "
            f"plugin_timeout_seconds allows {allowed_seconds:g}; nothing is decided until it does."
        )


class PluginWatch:
    """Runs decisions in threads that may be left behind. Thread-safe.

    While a call to a plugin is overdue, decisions are refused at once; those that wait for the
    stuck one are given up when they, too, have waited that long. What was given up and goes on
    later claims in vain: whoever asked has fenced it off by then.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._pool = WorkerPool(_WORKERS, "deciding", _WAITING_MAX)
        self._reported: set[Call] = set()

    def stop(self) -> None:
        """Wait for nobody."""
        self._pool.shutdown(0)

    def run(self, context: RequestContext, decide: Callable[[], T]) -> T:
        """Return what ``decide`` returns, or raise what it raises.

        Raises ``PluginStuck``, and ``Unavailable`` when too many decisions wait.
        """
        self._refuse(started=None)

        def decide_in_context() -> T:
            context.update_store()  # for the log lines of the thread
            return decide()

        try:
            future = self._pool.submit(decide_in_context)
        except WorkerPoolFull as error:
            raise exception.Unavailable(reason="too many requests wait for a decision") from error
        return self._wait(future)

    def _wait(self, future: Future[T]) -> T:
        started = time.monotonic()
        while True:
            pause = min(_LOOK_SECONDS_MAX, self._allowed_seconds / 2)
            done, _pending = wait([future], timeout=pause)
            if done:
                return future.result()
            try:
                self._refuse(started=started)
            except PluginStuck:
                future.cancel()
                raise

    def _refuse(self, *, started: float | None) -> None:
        """Raise when a plugin is stuck, for those that have not begun or have waited too long."""
        allowed = self._allowed_seconds
        overdue = plugin_calls.mark_overdue(allowed)
        self._report(overdue)
        # A little longer: a call that looks at hosts one by one ends at the next one.
        has_patience = started is not None and time.monotonic() - started < 1.5 * allowed
        if overdue and not has_patience:
            raise PluginStuck(next(iter(overdue.values())), allowed)

    def _report(self, overdue: dict[int, Call]) -> None:
        """Say once of each stuck call where it is."""
        self._reported.intersection_update(overdue.values())
        for thread, call in overdue.items():
            if call in self._reported:
                continue
            self._reported.add(call)
            frame = sys._current_frames().get(thread)
            where = "".join(traceback.format_stack(frame)) if frame else "(unknown)"
            LOG.error(
                "%s has not answered for %.0f s; no request is decided until it does. It is at\n%s",
                type(call.plugin).__name__, call.seconds, where,
            )  # fmt: skip

    @property
    def _allowed_seconds(self) -> float:
        allowed: float = self._conf.scheduler.plugin_timeout_seconds
        return allowed
