"""From the configuration to what is sent on the embedded broker."""

import queue
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from armillary.conf import base, notifications, register
from rpc import memory_transport
from rpc.notifications import event_feed, make_notifier, notification_bus
from rpc.notifications.factory import feed_url
from rpc.notifications.notifier import Notifier
from tests import builders
from tests.fixtures.configuration import messaging_conf

SECONDS_MAX = 60.0


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = messaging_conf()
    register(conf, base, notifications)
    conf.set_override("host", "conductor1")
    notification_bus.has_driver(conf)  # registers the options of messaging
    return conf


@pytest.fixture
def url() -> str:
    return f"kombu+memory:////{uuid.uuid4()}"


Heard = queue.Queue[tuple[str, str, dict[str, Any]]]


class Consumer:
    """A third party: notes topic's priority, type and payload."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def info(self, _context: Any, publisher: str, kind: str, payload: Any, _meta: Any) -> None:
        self._heard.put((publisher, kind, payload))

    error = info


@pytest.fixture
def listen(conf: cfg.ConfigOpts, url: str) -> Iterator[Any]:
    """Return what listens to a topic as a third party does."""
    servers = []

    def start(topic: str) -> Heard:
        broker = oslo_messaging.TransportURL.parse(conf, url)
        broker.transport = memory_transport.install()  # as the sender does: both are on one broker
        heard: Heard = queue.Queue()
        transport = oslo_messaging.get_notification_transport(conf, url=broker)
        server = oslo_messaging.get_notification_listener(
            transport, [oslo_messaging.Target(topic=topic)], [Consumer(heard)], executor="threading"
        )
        server.start()
        servers.append(server)
        return heard

    yield start
    for server in servers:
        server.stop()
        server.wait()


def tell(notifier: Notifier) -> None:
    notifier.instance_action(None, builders.an_instance(), "create", "start")
    notifier.stop(SECONDS_MAX)


def test_versioned_notifications_are_versioned_objects(
    conf: cfg.ConfigOpts, url: str, listen: Any
) -> None:
    """On their own topic, from binary and host."""
    conf.set_override("driver", ["messagingv2"], group="oslo_messaging_notifications")
    versioned = listen("versioned_notifications")
    tell(make_notifier(conf, "armillary-conductor", url))
    publisher, kind, payload = versioned.get(timeout=SECONDS_MAX)
    assert (publisher, kind) == ("armillary-conductor:conductor1", "instance.create.start")
    assert payload["armillary_object.name"] == "InstanceActionPayload"


def test_both_forms_go_to_a_topic_each(conf: cfg.ConfigOpts, url: str, listen: Any) -> None:
    """Unversioned ones to the topics of oslo.messaging's own options."""
    conf.set_override("driver", ["messagingv2"], group="oslo_messaging_notifications")
    conf.set_override("notification_format", "both", group="notifications")
    conf.set_override("versioned_notifications_topics", ["v"], group="notifications")
    versioned, plain = listen("v"), listen("notifications")
    tell(make_notifier(conf, "armillary-conductor", url))
    assert "armillary_object.data" in versioned.get(timeout=SECONDS_MAX)[2]
    assert plain.get(timeout=SECONDS_MAX)[2]["name"] == "web"


def test_without_a_driver_there_is_the_feed_alone(
    conf: cfg.ConfigOpts, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No queue without readers fills up."""
    monkeypatch.setattr(event_feed, "WAIT_SECONDS", 0.05)
    stop, connected = threading.Event(), threading.Event()
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    reader = event_feed.FeedReader(conf, str(feed_url(conf, url)))
    thread = threading.Thread(
        target=reader.run, args=(stop, heard.put, lambda _is_there: connected.set())
    )
    thread.start()
    assert connected.wait(SECONDS_MAX)
    tell(make_notifier(conf, "armillary-conductor", url))
    (line,) = heard.get(timeout=SECONDS_MAX)["events"]
    stop.set()
    thread.join(SECONDS_MAX)
    assert (line["type"], line["name"], line["host"]) == ("instance.create.start", "web", "host1")


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("notifications", "notification_format", "none"),
        ("oslo_messaging_notifications", "transport_url", "noop://"),
        ("notifications", "event_feed", False),
    ],
    ids=["format none", "noop", "neither driver nor feed"],
)
def test_where_nothing_is_to_be_sent_nothing_is_made(
    conf: cfg.ConfigOpts, group: str, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No connection, no thread, and no feed to follow."""
    monkeypatch.setattr(event_feed, "connection_to", None)
    monkeypatch.setattr(notification_bus, "NotificationBus", None)
    conf.set_override("driver", ["noop"], group="oslo_messaging_notifications")
    conf.set_override(name, value, group=group)
    assert make_notifier(conf, "armillary-conductor", "rabbit://nowhere").is_silent
    assert feed_url(conf, "rabbit://nowhere") is None


def test_notifications_may_have_a_broker_of_their_own(conf: cfg.ConfigOpts) -> None:
    """The feed is there, too."""
    conf.set_override("transport_url", "rabbit://there", group="oslo_messaging_notifications")
    assert feed_url(conf, "rabbit://here") == "rabbit://there"
