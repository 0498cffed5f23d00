"""Followers of events: each with its filter and its bound, none of them in the way of others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from api import event_hub
from api.event_hub import ALIVE, EVENT, NOTICE, EventFilter, EventHub, Follower
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
    return EventHub(feed, followers_max=2, queue_size_max=3)


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
