"""Followers of events: each with its filter and its bound, none of them in the way of others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from api.events import event_hub
from api.events.event_hub import ALIVE, EVENT, NOTICE, EventFilter, EventHub, Follower
from armillary import exception

SECONDS_MAX = 60.0
SERVER = "8a6f1f2e-9d0b-4b58-a1b5-0c8f0f8d8d11"


class Feed:
    """A feed that a test speaks on."""

    def __init__(self) -> None:
        self.runs: list[threading.Event] = []
        self.on_message: Callable[[dict[str, Any]], None]
        self.on_gap: Callable[[bool], None]
        self.is_read = threading.Event()

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None],
    ) -> None:
        self.runs.append(stop)
        self.on_message, self.on_gap = on_message, on_gap
        on_gap(True)
        self.is_read.set()
        stop.wait(SECONDS_MAX)

    def say(self, *lines: dict[str, Any], version: str = "1.0") -> None:
        assert self.is_read.wait(SECONDS_MAX)
        self.on_message({"version": version, "events": list(lines)})


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def hub(feed: Feed) -> EventHub:
    return EventHub(feed, followers_max=2, queue_size_max=3, linger_seconds=0)


@pytest.fixture
def lasting(feed: Feed) -> Iterator[EventHub]:
    """A hub that goes on reading when the last follower has left; it keeps three events."""
    hub = EventHub(feed, followers_max=2, queue_size_max=6)
    yield hub
    hub.stop()


def a_line(kind: str = "instance.create.end", **facts: Any) -> dict[str, Any]:
    return {"type": kind, "server": SERVER, "servers": [], "name": "web", "host": "a", **facts}


def heard(hub: EventHub, follower: Follower) -> list[tuple[str, Any]]:
    """End all streams; return what a follower reads, except for the signs of life."""
    hub.stop()
    return [(kind, line) for kind, line in follower if kind != ALIVE]


def events(hub: EventHub, follower: Follower) -> list[Any]:
    return [line for kind, line in heard(hub, follower) if kind == EVENT]


def test_all_followers_hear_all_they_want(hub: EventHub, feed: Feed) -> None:
    """From one reader of the feed."""
    everything, errors = hub.follow(EventFilter()), hub.follow(EventFilter(types=("*.error",)))
    feed.say(a_line(), a_line("instance.create.error"))
    assert [line["type"] for line in events(hub, everything)] == [
        "instance.create.end",
        "instance.create.error",
    ]
    assert [line["type"] for line in events(hub, errors)] == ["instance.create.error"]
    assert len(feed.runs) == 1


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (EventFilter(server=SERVER), True),
        (EventFilter(server="web"), True),
        (EventFilter(server="db"), False),
        (EventFilter(host="a"), True),
        (EventFilter(host="b"), False),
        (EventFilter(types=("service.*", "instance.*.end")), True),
        (EventFilter(types=("instance",)), False),
    ],
    ids=["id", "name", "another", "host", "another host", "a pattern", "no pattern"],
)
def test_a_filter_fits_or_not(wanted: EventFilter, fits: bool) -> None:
    """By server, host and type."""
    assert wanted.fits(a_line()) is fits


def test_a_server_is_one_of_a_request_but_no_aggregate() -> None:
    """An aggregate may have the name of a server."""
    assert EventFilter(server=SERVER).fits(a_line(server=None, servers=[SERVER], name=None))
    assert not EventFilter(server="web").fits(a_line("aggregate.create.end", server=None))


def test_who_reads_too_slowly_is_sent_away_and_told(hub: EventHub, feed: Feed) -> None:
    """The others go on; what waited is still read."""
    slow, quick = hub.follow(EventFilter()), hub.follow(EventFilter(host="b"))
    feed.say(*(a_line(number=number) for number in range(5)))
    feed.say(a_line(host="b"))
    read = list(slow)
    assert read[-1] == (NOTICE, {"message": event_hub.TOO_SLOW, "last": True})
    assert [line["number"] for kind, line in read if kind == EVENT] == [0, 1]
    assert len(events(hub, quick)) == 1


def test_there_is_a_bound_on_followers(hub: EventHub) -> None:
    """Each takes a thread; one that goes makes room."""
    followers = [hub.follow(EventFilter()), hub.follow(EventFilter())]
    with pytest.raises(exception.Conflict, match="followers_max"):
        hub.follow(EventFilter())
    followers[0].close()
    followers[0].close()
    hub.follow(EventFilter())


def test_the_feed_is_read_while_it_has_followers(hub: EventHub, feed: Feed) -> None:
    """An API without followers is connected to nothing."""
    follower = hub.follow(EventFilter())
    assert feed.is_read.wait(SECONDS_MAX)
    assert not feed.runs[0].is_set()
    follower.close()
    assert feed.runs[0].is_set()
    feed.is_read.clear()
    hub.follow(EventFilter())
    assert feed.is_read.wait(SECONDS_MAX)
    assert not feed.runs[1].is_set()


def test_a_lost_broker_is_said(hub: EventHub, feed: Feed) -> None:
    """Once, however often it is tried again."""
    follower = hub.follow(EventFilter())
    assert feed.is_read.wait(SECONDS_MAX)
    next(reading := iter(follower))
    for is_there in (False, False, True):
        feed.on_gap(is_there)
    assert [next(reading)[1]["message"] for _ in range(2)] == [
        event_hub.BROKER_LOST,
        event_hub.CONNECTED,
    ]


def test_the_end_of_the_process_ends_the_streams(hub: EventHub) -> None:
    """Else a drain would wait for them; no new one comes any more."""
    follower = hub.follow(EventFilter())
    assert heard(hub, follower)[-1] == (NOTICE, {"message": event_hub.ENDING, "last": True})
    with pytest.raises(exception.Unavailable):
        hub.follow(EventFilter())


def test_silence_is_said_to_be_one(hub: EventHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that who follows can tell it from a lost connection, and we find out who has gone."""
    monkeypatch.setattr(event_hub, "ALIVE_SECONDS", 0.01)
    assert ALIVE in [
        kind for _, (kind, _line) in zip(range(2), hub.follow(EventFilter()), strict=False)
    ]


def test_lines_of_another_major_version_are_left_out(hub: EventHub, feed: Feed) -> None:
    """A newer minor one is understood."""
    follower = hub.follow(EventFilter())
    feed.say(a_line("new"), version="2.0")
    feed.say(a_line("known"), version="1.7")
    assert [line["type"] for line in events(hub, follower)] == ["known"]


def types(read: list[tuple[str, Any]]) -> list[str]:
    return [line["type"] for kind, line in read if kind == EVENT]


def lost_after_one(hub: EventHub, feed: Feed) -> str:
    """Read one event, lose the connection; return the position."""
    follower = hub.follow(EventFilter())
    feed.say(a_line("read"))
    reading = iter(follower)
    while next(reading)[0] != EVENT:
        continue
    follower.close()
    return follower.position


def test_a_lost_stream_goes_on_where_it_was(lasting: EventHub, feed: Feed) -> None:
    """With what happened while the client was not there, filtered as it asks."""
    position = lost_after_one(lasting, feed)
    feed.say(a_line("one"), a_line("elsewhere", host="b"), a_line("two"))
    follower = lasting.follow(EventFilter(host="a"), position)
    feed.say(a_line("live"))
    read = heard(lasting, follower)
    assert read[0] == (NOTICE, {"message": event_hub.RESUMED, "resumed": True})
    assert types(read) == ["one", "two", "live"]


def test_who_missed_nothing_goes_on_too(lasting: EventHub, feed: Feed) -> None:
    """Again and again: each stream has a position, also one without events."""
    position = lost_after_one(lasting, feed)
    follower = lasting.follow(EventFilter(), position)
    follower.close()
    assert follower.position == position
    read = heard(lasting, lasting.follow(EventFilter(), follower.position))
    assert (read[0][1]["resumed"], types(read)) == (True, [])


def more_than_is_kept(hub: EventHub, feed: Feed) -> None:
    feed.say(*(a_line() for _ in range(4)))


def a_lost_broker(hub: EventHub, feed: Feed) -> None:
    feed.on_gap(False)
    feed.on_gap(True)


@pytest.mark.parametrize("happens", [more_than_is_kept, a_lost_broker])
def test_what_is_missing_is_said(
    lasting: EventHub, feed: Feed, happens: Callable[[EventHub, Feed], None]
) -> None:
    """Rather than leaving a hole."""
    position = lost_after_one(lasting, feed)
    happens(lasting, feed)
    read = heard(lasting, lasting.follow(EventFilter(), position))
    assert read[0] == (NOTICE, {"message": event_hub.NOT_RESUMED, "resumed": False})
    assert types(read) == []


@pytest.mark.parametrize("position", ["0a0b0c0d.1", "1", "", ".", "x.y", "{}.-1", "{}.9", "{}.²"])
def test_a_position_of_another_process_is_none_here(
    lasting: EventHub, feed: Feed, position: str
) -> None:
    """Nor is one that a client made up."""
    known = lost_after_one(lasting, feed).partition(".")[0]
    follower = lasting.follow(EventFilter(), position.format(known))
    assert heard(lasting, follower)[0][1].get("resumed") is False


def test_a_feed_that_was_not_read_has_a_hole(hub: EventHub, feed: Feed) -> None:
    """What happened before the first follower came back was not heard."""
    position = lost_after_one(hub, feed)
    assert heard(hub, hub.follow(EventFilter(), position))[0][1].get("resumed") is False


def test_the_end_of_the_process_ends_the_reading(lasting: EventHub, feed: Feed) -> None:
    """Also where the last follower has left already."""
    lost_after_one(lasting, feed)
    assert not feed.runs[0].is_set()
    lasting.stop()
    assert feed.runs[0].is_set()


def test_the_reading_ends_when_no_follower_comes_back(feed: Feed) -> None:
    hub = EventHub(feed, followers_max=1, queue_size_max=1, linger_seconds=0.01)
    hub.follow(EventFilter()).close()
    assert feed.runs[0].wait(SECONDS_MAX)


def test_each_leave_of_the_last_follower_has_its_whole_time(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timer of an earlier leave does not end the reading."""
    timers: list[Timer] = []

    class Timer:
        def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
            self.seconds, self._ring, self._is_cancelled = seconds, ring, False
            timers.append(self)

        def start(self) -> None: ...

        def cancel(self) -> None:
            self._is_cancelled = True

        def ring(self) -> None:
            if not self._is_cancelled:
                self._ring()

    monkeypatch.setattr("api.events.event_hub.threading.Timer", Timer)
    hub = EventHub(feed, followers_max=1, queue_size_max=1, linger_seconds=60)
    for _ in range(2):
        hub.follow(EventFilter()).close()
    first, second = timers
    first.ring()
    assert not feed.runs[0].is_set()
    second.ring()
    assert feed.runs[0].is_set()
