"""Connection to a service on another broker, with a small pool of workers that may block on it.

A call to an unreachable broker blocks until the broker is back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.outage_log import OutageLog
from rpc.transport import Bus

T = TypeVar("T")

_QUEUE_SIZE_MAX = 100
_SILENCE = (exception.RpcTimeout, exception.RpcUnavailable)


class Link:
    """One bus and its workers. ``lost`` makes the error from the reason why there is no answer.

    ``logger`` logs outages of ``title``; ``name`` is the prefix of the threads' names.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        name: str,
        title: str,
        workers: int,
        logger: logging.Logger,
        lost: Callable[[str], exception.Unavailable],
    ) -> None:
        self._bus = bus
        self._lost = lost
        self._workers = WorkerPool(workers, name, queue_size_max=_QUEUE_SIZE_MAX)
        self._outage = OutageLog(logger, title)
        self.is_silent = False

    def submit(self, question: Callable[[], T]) -> Asked[T]:
        """Run a request in a worker, perhaps much later. Raises what ``lost`` makes."""
        try:
            future = self._workers.submit(question)
            future.add_done_callback(self._note_answer)
            return Asked(self, future)
        except WorkerPoolFull as error:
            raise self.unavailable("too many calls are waiting for it") from error
        except RuntimeError as error:  # another thread saw its URL change, and closed this
            raise self.unavailable("its broker's URL has just changed") from error

    def answered(self) -> None:
        self.is_silent = False
        self._outage.succeeded()

    def silent(self, reason: str) -> exception.Unavailable:
        self.is_silent = True
        return self.unavailable(reason)

    def unavailable(self, reason: str) -> exception.Unavailable:
        self._outage.failed(reason)
        return self._lost(reason)

    def close(self) -> None:
        self._workers.shutdown(0)
        self._bus.close()

    def _note_answer(self, future: Future[Any]) -> None:
        """Record an answer, even if the caller no longer waits for it."""
        if not future.cancelled() and not isinstance(future.exception(), _SILENCE):
            self.is_silent = False


class Asked(Generic[T]):
    """A request in progress; ``was_silent``: the previous one was not answered."""

    def __init__(self, link: Link, future: Future[T]) -> None:
        self._link = link
        self._future = future
        self.was_silent = link.is_silent

    def wait(self, timeout_seconds: float) -> T:
        """Return the answer; raise the link's error (outcome unknown) or what the call raised."""
        try:
            result = self._future.result(max(0.0, timeout_seconds))
        except (TimeoutError, CancelledError) as error:
            self._future.cancel()
            raise self._link.silent("no answer in time") from error
        except _SILENCE as error:
            raise self._link.silent(error.message) from error
        self._link.answered()
        return result
