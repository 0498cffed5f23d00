"""Timeouts of plugin calls: keep a hanging plugin from blocking the whole scheduler."""

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
from rpc import deadlines
from scheduler.plugins import plugin_calls
from scheduler.plugins.plugin_calls import Call

LOG = logging.getLogger(__name__)

T = TypeVar("T")

_WORKERS = 64  # as many as there are threads for RPC calls
_WAITING_MAX = 10_000
_LOOK_SECONDS_MAX = 0.5


class PluginTimedOut(Exception):
    """A plugin does not return; no decisions are possible until it does."""

    def __init__(self, call: Call, allowed_seconds: float) -> None:
        self.plugin = type(call.plugin).__name__
        super().__init__(
            f"{self.plugin} is stuck: it has not returned for {call.seconds:.0f} s ([scheduler] "
            f"plugin_timeout_seconds is {allowed_seconds:g}); requests fail until it does."
        )


class PluginTimeouts:
    """Runs decisions in threads that can be abandoned. Thread-safe.

    While a call of a plugin is overdue, new decisions are rejected immediately; pending ones are
    abandoned after the same timeout. If an abandoned decision continues later, its claims fail,
    because the caller has fenced it off by then.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._pool = WorkerPool(_WORKERS, "deciding", _WAITING_MAX)
        self._reported: set[Call] = set()

    def stop(self) -> None:
        """Shut down without waiting for decisions."""
        self._pool.shutdown(0)

    def run(self, context: RequestContext, decide: Callable[[], T]) -> T:
        """Return the result of ``decide``, or raise its exception.

        Raises ``PluginTimedOut``, and ``Unavailable`` if too many decisions are queued.
        """
        self._refuse(started=None)

        def decide_in_context() -> T:
            context.update_store()  # request id in the thread's log lines
            return decide()

        try:
            future = self._pool.submit(deadlines.carried(decide_in_context))
        except WorkerPoolFull as error:
            raise exception.Unavailable(reason="too many requests are waiting") from error
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
            except PluginTimedOut:
                future.cancel()
                raise

    def _refuse(self, *, started: float | None) -> None:
        """Raise if a plugin is stuck, unless the decision started recently."""
        allowed = self._allowed_seconds
        overdue = plugin_calls.mark_overdue(allowed)
        self._report(overdue)
        # Allow some extra time: a call that reads hosts one by one ends at the next host.
        is_recent = started is not None and time.monotonic() - started < 1.5 * allowed
        if overdue and not is_recent:
            raise PluginTimedOut(next(iter(overdue.values())), allowed)

    def _report(self, overdue: dict[int, Call]) -> None:
        """Log each stuck call once, with its stack."""
        self._reported.intersection_update(overdue.values())
        for thread, call in overdue.items():
            if call in self._reported:
                continue
            self._reported.add(call)
            frame = sys._current_frames().get(thread)
            where = "".join(traceback.format_stack(frame)) if frame else "(unknown)"
            LOG.error(
                "%s has not returned for %.0f s; requests fail until it does. Its stack:\n%s",
                type(call.plugin).__name__, call.seconds, where,
            )  # fmt: skip

    @property
    def _allowed_seconds(self) -> float:
        allowed: float = self._conf.scheduler.plugin_timeout_seconds
        return allowed
