"""Connection to a service on another broker, with a small pool of workers that may block on it.

A call to an unreachable broker blocks until the broker is back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.logs.outage_log import OutageLog
from objects.cell_mapping import CellMapping
from objects.zones.zone_record import ChildZone
from rpc.transport import Bus

T = TypeVar("T")
Peer = TypeVar("Peer", bound=CellMapping | ChildZone)
AnyLink = TypeVar("AnyLink", bound="Link")

_QUEUE_SIZE_MAX = 100
_SILENCE = (exception.RpcTimeout, exception.RpcUnavailable)


class Link:
    """One bus and its workers. ``lost`` makes the error from the reason why there is no answer.

    ``topic`` is that of the peer. ``logger`` logs outages of ``title``; ``name`` is the prefix of
    the threads' names.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        topic: str,
        name: str,
        title: str,
        workers: int,
        logger: logging.Logger,
        lost: Callable[[str], exception.Unavailable],
    ) -> None:
        self._bus = bus
        self._topic = topic
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

    def unanswered(self, error: exception.Unavailable) -> exception.Unavailable:
        """Return the error for a request that failed because a service did not answer.

        If that was not the peer itself but another service that it asked, its topic is kept.
        """
        if self.is_silence(error):
            return self.silent(error.message)
        self.answered()
        made = self._lost(error.message)
        made.kwargs["topic"] = error.kwargs.get("topic")
        return made

    def is_silence(self, error: BaseException | None) -> bool:
        """Return whether an error says that the peer itself did not answer."""
        return isinstance(error, _SILENCE) and error.kwargs.get("topic") == self._topic

    def close(self) -> None:
        self._workers.shutdown(0)
        self._bus.close()

    def _note_answer(self, future: Future[Any]) -> None:
        """Record an answer, even if the caller no longer waits for it."""
        if not future.cancelled() and not self.is_silence(future.exception()):
            self.is_silent = False


class Links(Generic[Peer, AnyLink]):
    """Links to cells or zones, kept until the peer's name or transport URL changes."""

    def __init__(self, make: Callable[[Peer], AnyLink]) -> None:
        self._make = make
        self._links: dict[str, tuple[Peer, AnyLink]] = {}
        self._guard = threading.Lock()

    def to(self, peer: Peer) -> AnyLink:
        with self._guard:
            known, link = self._links.get(peer.uuid, (None, None))
            if known is not None and link is not None and _is_same_broker(known, peer):
                return link
            made = self._make(peer)
            self._links[peer.uuid] = peer, made
        if link is not None:
            link.close()
        return made

    def drop_others(self, kept: Collection[str]) -> None:
        """Close all links but those to these peers, by UUID.

        Calls that are blocked in them end with the process.
        """
        with self._guard:
            gone = [uuid for uuid in self._links if uuid not in kept]
            links = [self._links.pop(uuid)[1] for uuid in gone]
        for link in links:
            link.close()


def _is_same_broker(one: CellMapping | ChildZone, other: CellMapping | ChildZone) -> bool:
    return one.transport_url == other.transport_url and one.name == other.name


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
            raise self._link.unanswered(error) from error
        self._link.answered()
        return result
