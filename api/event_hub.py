"""Who follows events at this process: one reader of the feed, a bounded queue for each follower.

The reader is connected while somebody follows and not longer, so an API that nobody watches costs
nothing. As a server among the API's servers it ends the streams when the process is to end.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from armillary import exception, measures

LOG = logging.getLogger(__name__)

ALIVE_SECONDS = 10.0
"""A follower who heard nothing for so long is told that there was nothing."""

MAJOR = "1"
"""Of the feed's version: lines of another one are not understood here."""

EVENT = "event"
NOTICE = "notice"
ALIVE = "alive"

TOO_SLOW = "Events come faster than they are read here: some are lost, and the stream ends."
BROKER_LOST = "The message broker is away; what happens until it is back is not shown."
CONNECTED = "Following events."
ENDING = "This API process ends; others may go on."

Line = Mapping[str, Any]


class Reader(Protocol):
    """The feed, as ``rpc.event_feed.FeedReader`` reads it."""

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None],
    ) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Which events somebody follows; what is None does not matter, ``types`` are patterns."""

    server: str | None = None
    host: str | None = None
    types: tuple[str, ...] = ()

    def fits(self, line: Line) -> bool:
        """Tell whether a line of the feed is wanted."""
        if self.server is not None and not self._is_about_server(line):
            return False
        if self.host is not None and self.host not in str(line.get("host") or "").split(", "):
            return False
        kind = str(line.get("type"))
        return not self.types or any(fnmatch.fnmatchcase(kind, one) for one in self.types)

    def _is_about_server(self, line: Line) -> bool:
        named = {line.get("server"), *(line.get("servers") or ())}
        if line.get("server"):  # else the name is that of an aggregate or a group
            named.add(line.get("name"))
        return self.server in named


class Follower:
    """One who follows: iterate for (kind, line); ends when it was too slow, or the hub closes."""

    def __init__(self, wanted: Wanted, size_max: int, leave: Callable[[Follower], None]) -> None:
        self._wanted = wanted
        self._leave = leave
        self._waiting: queue.Queue[tuple[str, Line]] = queue.Queue(size_max)
        self._last: Line | None = None

    def __iter__(self) -> Iterator[tuple[str, Line]]:
        try:
            while True:
                try:
                    yield self._waiting.get(timeout=self._patience_seconds)
                except queue.Empty:
                    if self._last is not None:
                        break
                    yield ALIVE, {}
            yield NOTICE, self._last
        finally:
            self.close()

    def close(self) -> None:
        """Follow no longer. Idempotent."""
        self._leave(self)

    def offer(self, line: Line) -> None:
        """Have it read, when it is wanted; one who does not keep up is sent away."""
        if self._last is None and self._wanted.fits(line):
            self._put(EVENT, line)

    def notice(self, message: str) -> None:
        """Have it read a word about the stream itself."""
        if self._last is None:
            self._put(NOTICE, {"message": message})

    def end(self, message: str) -> None:
        """Let it read what waits, then this, then nothing more."""
        self._last = {"message": message, "last": True}
        with contextlib.suppress(queue.Full):  # then it is awake
            self._waiting.put_nowait((ALIVE, {}))

    def _put(self, kind: str, line: Line) -> None:
        try:
            self._waiting.put_nowait((kind, line))
        except queue.Full:
            measures.follower_dropped()
            LOG.warning("A follower of events is sent away: %d wait for it", self._waiting.qsize())
            self.end(TOO_SLOW)

    @property
    def _patience_seconds(self) -> float:
        return ALIVE_SECONDS if self._last is None else 0.001


class EventHub:
    """Spreads the feed among followers. A server: ``stop`` ends all streams."""

    def __init__(self, reader: Reader, *, followers_max: int, queue_size_max: int) -> None:
        self._reader = reader
        self._followers_max = followers_max
        self._queue_size_max = queue_size_max
        self._guard = threading.Lock()
        self._followers: set[Follower] = set()
        self._end_of_reading: threading.Event | None = None
        self._is_connected = False
        self._is_stopping = False

    def follow(self, wanted: Wanted) -> Follower:
        """Return a new follower.

        Raises Conflict when there are too many, Unavailable when the process is about to end.
        """
        with self._guard:
            if self._is_stopping:
                raise exception.Unavailable(reason="this API process is about to end")
            if len(self._followers) >= self._followers_max:
                raise exception.Conflict(
                    reason=f"{len(self._followers)} follow events at this API process already, "
                    f"[notifications] followers_max is {self._followers_max}"
                )
            follower = Follower(wanted, self._queue_size_max, self._left)
            self._followers.add(follower)
            if self._end_of_reading is None:
                self._start_reading()
            elif self._is_connected:
                follower.notice(CONNECTED)
        measures.follower_came()
        return follower

    def start(self) -> None:
        """Have nothing to do before somebody follows."""

    def stop(self) -> None:
        """End all streams."""
        with self._guard:
            self._is_stopping = True
            followers = list(self._followers)
        for follower in followers:
            follower.end(ENDING)

    def wait(self) -> None:
        """Have nothing to wait for: the streams are requests in hand of the HTTP server."""

    def _start_reading(self) -> None:
        end = self._end_of_reading = threading.Event()
        self._is_connected = False

        def take(message: dict[str, Any]) -> None:
            if not end.is_set():
                self._spread(message)

        def note(is_connected: bool) -> None:
            if not end.is_set():
                self._note_gap(is_connected)

        thread = threading.Thread(
            target=self._reader.run, args=(end, take, note), name="event-feed", daemon=True
        )
        thread.start()

    def _left(self, follower: Follower) -> None:
        with self._guard:
            if follower not in self._followers:
                return
            self._followers.discard(follower)
            if not self._followers and self._end_of_reading is not None:
                self._end_of_reading.set()
                self._end_of_reading = None
        measures.follower_went()

    def _spread(self, message: dict[str, Any]) -> None:
        if str(message.get("version")).partition(".")[0] != MAJOR:
            return
        followers = self._now()
        for line in message.get("events") or ():
            for follower in followers:
                follower.offer(line)

    def _note_gap(self, is_connected: bool) -> None:
        if is_connected or self._is_connected:
            for follower in self._now():
                follower.notice(CONNECTED if is_connected else BROKER_LOST)
        self._is_connected = is_connected

    def _now(self) -> list[Follower]:
        with self._guard:
            return list(self._followers)
