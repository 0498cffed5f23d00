"""The event feed on RabbitMQ: several API processes, nothing left behind, no queue that grows."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import amqp
import pytest
from kombu.connection import Connection
from oslo_config import cfg

from rpc.notifications import event_feed
from rpc.notifications.event_feed import FeedReader, FeedWriter
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.services.brokers import NewVhost, rabbitmqctl

SECONDS_MAX = 120.0


@pytest.fixture
def url(new_vhost: NewVhost) -> str:
    return new_vhost()


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = messaging_conf()
    Bus(conf, "kombu+memory:////options").close()
    return conf


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_feed, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(event_feed, "RECONNECT_SECONDS", 0.1)
    monkeypatch.setattr(event_feed, "RECHECK_SECONDS", 0.0)


@contextmanager
def following(conf: cfg.ConfigOpts, url: str) -> Iterator[queue.Queue[Any]]:
    """Follow the feed; what is heard are messages, and True or False about the connection."""
    heard: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()
    thread = threading.Thread(
        target=FeedReader(conf, url).run, args=(stop, heard.put, heard.put), daemon=True
    )
    thread.start()
    try:
        assert heard.get(timeout=SECONDS_MAX) is True
        yield heard
    finally:
        stop.set()
        thread.join(SECONDS_MAX)


def listed_of(url: str, command: str, vhost_option: str, *arguments: str) -> list[str]:
    """Return the lines that a command about the virtual host of a URL prints."""
    vhost = urlsplit(url).path.removeprefix("/")
    return rabbitmqctl(command, vhost_option, vhost, *arguments).splitlines()


def queues_of(url: str) -> list[list[str]]:
    """Return whether each queue is exclusive, and whether it is durable."""
    lines = listed_of(url, "list_queues", "-p", "exclusive", "durable", "--no-table-headers")
    return [line.split("\t") for line in lines]


def test_each_follower_hears_all_and_leaves_no_queue(conf: cfg.ConfigOpts, url: str) -> None:
    """Nor does a feed without readers fill one."""
    writer = FeedWriter(conf, url)
    writer.publish({"events": ["before"]})
    with following(conf, url) as one, following(conf, url) as other:
        writer.publish({"events": ["now"]})
        assert [each.get(timeout=SECONDS_MAX) for each in (one, other)] == [{"events": ["now"]}] * 2
        assert queues_of(url) == [["true", "false"]] * 2
    wait_for(lambda: queues_of(url) == [], "the broker has deleted them", SECONDS_MAX)
    writer.close()


def test_reader_and_writer_come_back_after_the_broker_cut_them_off(
    conf: cfg.ConfigOpts, url: str
) -> None:
    """As after its restart: what came between is missing, and that is said."""
    writer = FeedWriter(conf, url)
    with following(conf, url) as heard:
        writer.publish({"events": [1]})
        assert heard.get(timeout=SECONDS_MAX) == {"events": [1]}
        listed_of(url, "close_all_connections", "--vhost", "a test")
        assert heard.get(timeout=SECONDS_MAX) is False
        assert heard.get(timeout=SECONDS_MAX) is True
        writer.publish({"events": [2]})
        assert heard.get(timeout=SECONDS_MAX) == {"events": [2]}
    writer.close()


ODD: dict[str, dict[str, Any]] = {
    "another form": {"content_type": "text/plain", "content_encoding": "utf-8"},
    "another encoding": {"content_type": "application/json", "content_encoding": "zlib"},
    "a compressed one": {
        "content_type": "application/json", "content_encoding": "utf-8",
        "application_headers": {"compression": "application/x-gzip"},
    },
    "no JSON": {"content_type": "application/json", "content_encoding": "utf-8"},
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_an_odd_message_costs_no_follower_its_connection(
    what: str, conf: cfg.ConfigOpts, url: str
) -> None:
    """An account that may write to the feed could have all others miss events without end."""
    writer = FeedWriter(conf, url)
    with following(conf, url) as heard:
        with Connection(url.replace("rabbit://", "amqp://")) as broker:
            message = amqp.Message(b"odd", **ODD[what])
            broker.channel().basic_publish(message, exchange=event_feed.EXCHANGE)
        writer.publish({"events": ["next"]})
        assert heard.get(timeout=SECONDS_MAX) == {"events": ["next"]}
    writer.close()
