"""Periodic tasks: each in a thread of its own, without overlap, retried after errors."""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from armillary import exception

LOG = logging.getLogger(__name__)

REPEAT_SECONDS = 60.0
"""How often the same error of a task is logged while it lasts."""
ERRORS_A_MINUTE_MAX = 5
_VARYING = re.compile(r"\b[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*\b")
"""A number or an id."""


class Clock(Protocol):
    """The runner's source of time; tests use one that does not wait."""

    def monotonic(self) -> float: ...

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Wait for ``event`` at most ``timeout_seconds``; return whether it is set."""
        ...


class SystemClock:
    """The system's monotonic clock."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        return event.wait(timeout_seconds)


@dataclass(frozen=True)
class PeriodicTask:
    """Call ``fn`` every ``interval_seconds``, from start to start; zero or less turns it off.

    The first call comes ``initial_delay_seconds`` after the start, by default a whole interval,
    plus a random part of ``jitter_seconds``, so that processes started together do not act
    together. If a call takes longer than the interval, the next one follows immediately; missed
    calls are not made up for. ``is_waited_for`` is false for a call that may be aborted at any
    point without leaving work half done; shutdown does not wait for it.
    """

    name: str
    interval_seconds: float
    fn: Callable[[], object]
    initial_delay_seconds: float | None = None
    jitter_seconds: float = 0.0
    is_waited_for: bool = True

    @property
    def is_enabled(self) -> bool:
        return self.interval_seconds > 0


class PeriodicRunner:
    """Run periodic tasks from ``start`` to ``stop``."""

    def __init__(
        self,
        tasks: Sequence[PeriodicTask],
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._tasks = [task for task in tasks if task.is_enabled]
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, guards nothing
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failures: dict[str, dict[str, float]] = {}
        """Task -> the error that was logged, and when."""

    def start(self) -> None:
        """Begin; call it once."""
        for task in self._tasks:
            thread = threading.Thread(
                target=self._run, args=(task,), name=f"periodic-{task.name}", daemon=True
            )
            if task.is_waited_for:
                self._threads.append(thread)
            thread.start()

    def stop(self, wait_seconds: float = 0.0) -> bool:
        """Begin no more calls; return whether running calls ended within ``wait_seconds``."""
        self._stop.set()
        deadline = time.monotonic() + wait_seconds
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, task: PeriodicTask) -> None:
        due = self._clock.monotonic() + self._first_delay_seconds(task)
        while not self._clock.wait(self._stop, max(0.0, due - self._clock.monotonic())):
            started = self._clock.monotonic()
            self._call(task)
            due = started + task.interval_seconds

    def _first_delay_seconds(self, task: PeriodicTask) -> float:
        delay = task.initial_delay_seconds
        if delay is None:
            delay = task.interval_seconds
        return delay + self._rng.uniform(0.0, task.jitter_seconds)

    def _call(self, task: PeriodicTask) -> None:
        """Call a task. Log its error, and again each minute while that lasts.

        That a database is unreachable is logged for all who use it.
        """
        try:
            task.fn()
        except exception.DatabaseUnavailable as error:
            LOG.debug("Periodic task %s: %s", task.name, error)
        except exception.Unavailable as error:
            if self._is_news(task, error):
                LOG.warning("Periodic task %s failed; it is repeated: %s", task.name, error)
        except Exception as error:
            if self._is_news(task, error):
                LOG.exception("Periodic task %s failed; it is repeated", task.name)
        else:
            self._failures.pop(task.name, None)

    def _is_news(self, task: PeriodicTask, error: Exception) -> bool:
        """Return whether to log a task's error: another one than before, or a minute later.

        Numbers and ids make no other error of it, and a task has a few of them each minute.
        """
        now, what = self._clock.monotonic(), _VARYING.sub("#", repr(error))
        logged = {
            each: at
            for each, at in self._failures.get(task.name, {}).items()
            if now - at < REPEAT_SECONDS
        }
        is_news = what not in logged and len(logged) < ERRORS_A_MINUTE_MAX
        self._failures[task.name] = {**logged, what: now} if is_news else logged
        return is_news
