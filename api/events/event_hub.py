"""Event followers of this process: one reader of the feed, and a bounded queue per follower.

The reader is connected while there are followers, and some time after the last one left, which may
only have lost its connection; so an API that no client follows costs nothing.
The hub is one of the API's servers, so that it can end the streams when the process stops.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from api.events.event_backlog import Backlog, Line
from armillary import exception
from armillary.metrics import service_metrics

LOG = logging.getLogger(__name__)

ALIVE_SECONDS = 10.0
"""Seconds without an event after which a follower gets a keep-alive."""

LINGER_SECONDS = 60.0
"""Seconds for which the feed is read after the last follower left."""
BACKLOG_MAX = 1000
"""Maximum number of events that are kept for followers whose connection broke."""

MAJOR = "1"
"""Major version of the feed; lines of other versions are not supported."""

EVENT = "event"
NOTICE = "notice"
ALIVE = "alive"

TOO_SLOW = "Events arrive faster than this client reads them: some are lost, and the stream ends."
BROKER_LOST = "The message broker is unavailable; events until it is back are not shown."
CONNECTED = "Following events."
RESUMED = "Following events; those since the connection broke are shown."
NOT_RESUMED = "Following events; those since the connection broke are not shown."
GONE = "The connection was closed."
ENDING = "This API process is stopping; other processes may still serve events."


class Reader(Protocol):
    """The feed, as read by ``rpc.notifications.event_feed.FeedReader``."""

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None],
    ) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class EventFilter:
    """Filter of a follower; None matches everything, ``types`` are patterns."""

    server: str | None = None
    host: str | None = None
    types: tuple[str, ...] = ()

    def fits(self, line: Line) -> bool:
        """Return whether a line of the feed matches."""
        if self.server is not None and not self._is_about_server(line):
            return False
        if self.host is not None and self.host not in str(line.get("host") or "").split(", "):
            return False
        kind = str(line.get("type"))
        return not self.types or any(fnmatch.fnmatchcase(kind, one) for one in self.types)

    def _is_about_server(self, line: Line) -> bool:
        named = {line.get("server"), *(line.get("servers") or ())}
        if line.get("server"):  # otherwise the name is that of an aggregate or a group
            named.add(line.get("name"))
        return self.server in named


class Follower:
    """A follower: iterate for (kind, line); ends if it was too slow, or the hub closes."""

    def __init__(
        self,
        wanted: EventFilter,
        size_max: int,
        leave: Callable[[Follower], None],
        position: str,
        is_gone: Callable[[], bool],
    ) -> None:
        self.position = position
        """Where another stream continues after what was read from this one."""
        self.is_gone = is_gone
        self._wanted = wanted
        self._leave = leave
        self._waiting: queue.Queue[tuple[str, Line, str | None]] = queue.Queue(size_max)
        self._last: Line | None = None

    def __iter__(self) -> Iterator[tuple[str, Line]]:
        try:
            while True:
                try:
                    kind, line, position = self._waiting.get(timeout=self._keepalive_seconds)
                except queue.Empty:
                    if self._last is not None:
                        break
                    yield ALIVE, {}
                    continue
                self.position = position or self.position
                yield kind, line
            yield NOTICE, self._last
        finally:
            self.close()

    def close(self) -> None:
        """Stop following. Idempotent."""
        self._leave(self)

    def offer(self, line: Line, position: str) -> None:
        """Queue a line if it matches; disconnect the follower if its queue is full."""
        if self._last is None and self._wanted.fits(line):
            self._put(EVENT, line, position)

    def notice(self, message: str, **more: bool) -> None:
        """Queue a notice about the stream itself, with more fields for programs."""
        if self._last is None:
            self._put(NOTICE, {"message": message, **more}, None)

    def end(self, message: str) -> None:
        """Deliver what is queued, then this notice, then end the stream."""
        self._last = {"message": message, "last": True}
        with contextlib.suppress(queue.Full):  # already awake
            self._waiting.put_nowait((ALIVE, {}, None))

    def _put(self, kind: str, line: Line, position: str | None) -> None:
        try:
            self._waiting.put_nowait((kind, line, position))
        except queue.Full:
            service_metrics.FOLLOWERS_DROPPED.add()
            LOG.warning(
                "Disconnecting a slow client of the event stream: %d events are queued for it",
                self._waiting.qsize(),
            )
            self.end(TOO_SLOW)

    @property
    def _keepalive_seconds(self) -> float:
        return ALIVE_SECONDS if self._last is None else 0.001


class EventHub:
    """Distribute the feed to followers. As a server, ``stop`` ends all streams."""

    def __init__(
        self,
        reader: Reader,
        *,
        followers_max: int,
        queue_size_max: int,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        self._reader = reader
        self._followers_max = followers_max
        self._queue_size_max = queue_size_max
        self._linger_seconds = linger_seconds
        self._backlog = Backlog(min(BACKLOG_MAX, max(1, queue_size_max // 2)))
        self._guard = threading.Lock()
        self._followers: set[Follower] = set()
        self._end_of_reading: threading.Event | None = None
        self._lingering: threading.Timer | None = None
        self._is_connected = False
        self._is_stopping = False

    def follow(
        self,
        wanted: EventFilter,
        after: str | None = None,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> Follower:
        """Return a new follower; with ``after``, one that continues where another one ended.

        ``is_gone`` tells whether the follower's client has closed its connection: it then keeps
        no place from another one, although its stream notices only when it has something to send.
        Raises Conflict if there are too many, Unavailable if the process is stopping.
        """
        with self._guard:
            if self._is_stopping:
                raise exception.Unavailable(reason="this API process is stopping")
            if len(self._followers) >= self._followers_max:
                self._forget_gone()
            if len(self._followers) >= self._followers_max:
                raise exception.Conflict(
                    reason=f"{len(self._followers)} clients follow events at this API process "
                    f"already, [notifications] followers_max is {self._followers_max}"
                )
            is_read = self._end_of_reading is not None
            if not is_read:
                self._start_reading()
            follower = Follower(
                wanted, self._queue_size_max, self._remove, self._backlog.position, is_gone
            )
            self._followers.add(follower)
            if after is not None:
                self._resume(follower, after)
            elif is_read and self._is_connected:
                follower.notice(CONNECTED, connected=True)
        service_metrics.FOLLOWERS.here.inc()
        return follower

    def start(self) -> None:
        """Nothing to start: the reader connects with the first follower."""

    def stop(self) -> None:
        """End all streams."""
        with self._guard:
            self._is_stopping = True
            followers = list(self._followers)
            self._stop_reading_if_unused()
        for follower in followers:
            follower.end(ENDING)

    def wait(self) -> None:
        """Nothing to wait for: the streams are requests of the HTTP server."""

    def _forget_gone(self) -> None:
        for follower in [each for each in self._followers if each.is_gone()]:
            self._followers.discard(follower)
            service_metrics.FOLLOWERS.here.dec()
            follower.end(GONE)

    def _resume(self, follower: Follower, after: str) -> None:
        missed = self._backlog.since(after)
        if missed is None:
            follower.notice(NOT_RESUMED, resumed=False)
            return
        follower.notice(RESUMED, resumed=True)
        for position, line in missed:
            follower.offer(line, position)

    def _start_reading(self) -> None:
        end = self._end_of_reading = threading.Event()
        self._is_connected = False
        self._backlog.interrupt()

        def take(message: dict[str, Any]) -> None:
            if not end.is_set():
                self._distribute(message)

        def note(is_connected: bool) -> None:
            if not end.is_set():
                self._note_gap(is_connected)

        thread = threading.Thread(
            target=self._reader.run, args=(end, take, note), name="event-feed", daemon=True
        )
        thread.start()

    def _remove(self, follower: Follower) -> None:
        with self._guard:
            if follower not in self._followers:
                return
            self._followers.discard(follower)
            if self._is_stopping or self._linger_seconds <= 0:
                self._stop_reading_if_unused()
            elif not self._followers:
                self._stop_reading_later()
        service_metrics.FOLLOWERS.here.dec()

    def _stop_reading_later(self) -> None:
        """Go on reading for a while: the last follower may come back for what it misses.

        The time counts from the last leave: an earlier one no longer ends the reading.
        """

        def stop() -> None:
            with self._guard:
                self._stop_reading_if_unused()

        if self._lingering is not None:
            self._lingering.cancel()
        self._lingering = threading.Timer(self._linger_seconds, stop)
        self._lingering.daemon = True
        self._lingering.start()

    def _stop_reading_if_unused(self) -> None:
        if not self._followers and self._end_of_reading is not None:
            self._end_of_reading.set()
            self._end_of_reading = None

    def _distribute(self, message: dict[str, Any]) -> None:
        if str(message.get("version")).partition(".")[0] != MAJOR:
            return
        for line in message.get("events") or ():
            with self._guard:
                position = self._backlog.add(line)
                followers = list(self._followers)
            for follower in followers:
                follower.offer(line, position)

    def _note_gap(self, is_connected: bool) -> None:
        with self._guard:
            followers = list(self._followers)
            if not is_connected:
                self._backlog.interrupt()
        if is_connected or self._is_connected:
            for follower in followers:
                follower.notice(CONNECTED if is_connected else BROKER_LOST, connected=is_connected)
        self._is_connected = is_connected
