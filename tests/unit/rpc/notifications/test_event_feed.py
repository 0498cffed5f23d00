"""The event feed on the embedded broker: to all current listeners, kept for none."""

import queue
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from oslo_config import cfg

from armillary import exception
from rpc import memory_transport
from rpc.notifications import event_feed
from rpc.notifications.event_feed import FeedReader, FeedWriter, connection_to
from rpc.transport import Bus
from tests.fixtures.configuration import messaging_conf

SECONDS_MAX = 60.0

Follow = Callable[[], "queue.Queue[dict[str, Any]]"]


@pytest.fixture
def url() -> str:
    return f"kombu+memory:////{uuid.uuid4()}"


@pytest.fixture
def conf(url: str) -> cfg.ConfigOpts:
    conf = messaging_conf()
    Bus(conf, url).close()  # registers the options of messaging
    return conf


@contextmanager
def following(conf: cfg.ConfigOpts, url: str) -> Iterator[queue.Queue[dict[str, Any]]]:
    """Follow the feed until the end of the block."""
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    stop, connected = threading.Event(), threading.Event()
    arguments = (stop, heard.put, lambda is_there: connected.set() if is_there else None)
    thread = threading.Thread(target=FeedReader(conf, url).run, args=arguments)
    thread.start()
    try:
        assert connected.wait(SECONDS_MAX)
        yield heard
    finally:
        stop.set()
        thread.join(SECONDS_MAX)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_feed, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(event_feed, "RECONNECT_SECONDS", 0.01)


def test_all_who_follow_hear_it(conf: cfg.ConfigOpts, url: str) -> None:
    """Each has a queue of its own."""
    writer = FeedWriter(conf, url)
    with ExitStack() as stack:
        both = [stack.enter_context(following(conf, url)) for _ in range(2)]
        writer.publish({"events": [1]})
        assert [heard.get(timeout=SECONDS_MAX) for heard in both] == [{"events": [1]}] * 2


def test_nothing_is_kept_for_who_comes_later(conf: cfg.ConfigOpts, url: str) -> None:
    """And no queue is left without followers."""
    writer = FeedWriter(conf, url)
    writer.publish({"events": ["before"]})
    with following(conf, url) as heard:
        writer.publish({"events": ["now"]})
        assert heard.get(timeout=SECONDS_MAX) == {"events": ["now"]}
    broker = memory_transport._broker_for(connection_to(conf, url, heartbeat=0).virtual_host)
    assert [name for name in broker.queues if name.startswith(event_feed.EXCHANGE)] == []


def test_a_reader_goes_on_after_a_failure(
    conf: cfg.ConfigOpts, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says when the broker is lost and when it is back, and does not end."""
    words: queue.Queue[bool] = queue.Queue()
    stop = threading.Event()
    drain = FeedReader._drain
    failures = [OSError("connection reset")]

    def broken_once(self: FeedReader, *arguments: Any) -> None:
        if failures:
            raise failures.pop()
        drain(self, *arguments)

    monkeypatch.setattr(FeedReader, "_drain", broken_once)
    reader = FeedReader(conf, url)
    thread = threading.Thread(target=reader.run, args=(stop, lambda _message: None, words.put))
    thread.start()
    assert [words.get(timeout=SECONDS_MAX) for _ in range(3)] == [True, False, True]
    stop.set()
    thread.join(SECONDS_MAX)


def test_a_writer_renews_an_old_connection(
    conf: cfg.ConfigOpts, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that was restarted loses no more than what was under way."""
    writer = FeedWriter(conf, url)
    publish, failures = writer._publish, [ConnectionResetError()]

    def broken_once(message: dict[str, Any]) -> None:
        if failures:
            raise failures.pop()
        publish(message)

    monkeypatch.setattr(writer, "_publish", broken_once)
    kind = type(writer._connection.transport)
    monkeypatch.setattr(kind, "connection_errors", (ConnectionResetError,))
    with following(conf, url) as heard:
        writer.publish({"events": [1]})
        assert heard.get(timeout=SECONDS_MAX) == {"events": [1]}


def test_a_connection_goes_where_the_buses_go(conf: cfg.ConfigOpts) -> None:
    """One URL, as operators write it for oslo.messaging: escapes, IPv6, any virtual host."""
    made = connection_to(conf, "rabbit://me:p%40ss@[::1]:5/a%2Fb", heartbeat=0)
    where = (made.userid, made.password, made.hostname, made.port, made.virtual_host)
    assert where == ("me", "p@ss", "::1", 5, "a/b")


def test_a_connection_knows_all_hosts_of_a_cluster(conf: cfg.ConfigOpts) -> None:
    """The next one is tried when one is unreachable."""
    made = connection_to(conf, "rabbit://u:p@a:1,u:p@b:2/v", heartbeat=0)
    assert [each.partition("@")[2] for each in made.alt] == ["a:1/v", "b:2/v"]


def test_a_url_without_a_form_is_a_mistake_in_the_configuration(conf: cfg.ConfigOpts) -> None:
    """It is logged at the start, not with the first follower."""
    with pytest.raises(exception.ConfigurationError):
        FeedReader(conf, "rabbit://u:p@host:port/v")
