"""A link to somebody on another broker: few workers that may hang there, and what is known of it.

A call to a broker that is out of reach does not come back until the broker does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.log_once import OutageLog
from rpc.transport import Bus

T = TypeVar("T")

_QUEUE_SIZE_MAX = 100
_SILENCE = (exception.RpcTimeout, exception.RpcUnavailable)


class Link:
    """One bus and its workers. ``lost`` makes the error for a reason why there is no answer.

    ``logger`` is whose log says so, ``title`` who is meant, ``name`` what the threads are called.
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
        """Have a worker ask, perhaps much later. Raises what ``lost`` makes."""
        try:
            future = self._workers.submit(question)
            future.add_done_callback(self._hear)
            return Asked(self, future)
        except WorkerPoolFull as error:
            raise self.unavailable("too many calls wait for it") from error
        except RuntimeError as error:  # another thread found that it moved, and closed this
            raise self.unavailable("it has just moved") from error

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

    def _hear(self, future: Future[Any]) -> None:
        """Note that somebody speaks, also when nobody waits for what it says any more."""
        if not future.cancelled() and not isinstance(future.exception(), _SILENCE):
            self.is_silent = False


class Asked(Generic[T]):
    """A question under way; ``was_silent``: the one before it had no answer."""

    def __init__(self, link: Link, future: Future[T]) -> None:
        self._link = link
        self._future = future
        self.was_silent = link.is_silent

    def wait(self, timeout_seconds: float) -> T:
        """Return the answer; raise the link's error (outcome unknown) or what was raised there."""
        try:
            result = self._future.result(max(0.0, timeout_seconds))
        except (TimeoutError, CancelledError) as error:
            self._future.cancel()
            raise self._link.silent("no answer in time") from error
        except _SILENCE as error:
            raise self._link.silent(error.message) from error
        self._link.answered()
        return result
