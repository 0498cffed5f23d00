"""Notifier construction from the configuration, and its channels: message bus, event feed."""

from __future__ import annotations

import collections
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from oslo_config import cfg

from armillary.conf.notifications import BOTH, NONE, UNVERSIONED, VERSIONED
from armillary.logs.outage_log import OutageLog
from armillary.metrics import service_metrics
from rpc.notifications import notification_bus
from rpc.notifications.event_feed import FeedWriter
from rpc.notifications.notification import FEED_VERSION, Notification
from rpc.notifications.notifier import SILENT, Notifier

LOG = logging.getLogger(__name__)

BATCH_SIZE_MAX = 200
BATCH_WINDOW_SECONDS = 0.02
"""Seconds to wait for more events: a message for fifty costs little more than for one."""


class Channel(Protocol):
    """One channel for notifications that leave the process."""

    name: str

    def send(self, notifications: Sequence[Notification]) -> None:
        """Send the notifications, or raise why it failed; may block."""
        ...

    def close(self) -> None: ...


class Outbox:
    """Pass batches to each channel, in order. Starts its thread with the first notification."""

    def __init__(self, ways: Sequence[Channel], *, size_max: int) -> None:
        self._ways = list(ways)
        self._size_max = size_max
        self._waiting: collections.deque[Notification] = collections.deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._overflow = OutageLog(LOG, "Space for more notifications")
        self._outages = {way.name: OutageLog(LOG, f"The {way.name} of events") for way in ways}

    def put(self, notification: Notification) -> None:
        """Queue a notification; it is dropped and counted if too many are waiting."""
        with self._changed:
            if self._is_stopping:
                return
            is_full = len(self._waiting) >= self._size_max
            if not is_full:
                self._waiting.append(notification)
                self._changed.notify()
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._work, name="notifications", daemon=True
                    )
                    self._thread.start()
        if is_full:
            service_metrics.NOTIFICATIONS_DROPPED.add("queue_full")
            self._overflow.failed(f"{self._size_max} are waiting to be sent, new ones are dropped")

    def stop(self, grace_seconds: float) -> None:
        """Send what is queued, for at most ``grace_seconds``; accept nothing more."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(grace_seconds)

    def _work(self) -> None:
        while batch := self._next_batch():
            for way in self._ways:
                self._send(way, batch)
        for way in self._ways:
            way.close()

    def _next_batch(self) -> list[Notification]:
        """Wait for notifications; return none when it is time to end."""
        with self._changed:
            while not self._waiting and not self._is_stopping:
                self._changed.wait()
            is_early = not self._is_stopping
        if is_early:
            time.sleep(BATCH_WINDOW_SECONDS)
        with self._changed:
            count = min(len(self._waiting), BATCH_SIZE_MAX)
            return [self._waiting.popleft() for _ in itertools.repeat(None, count)]

    def _send(self, way: Channel, batch: Sequence[Notification]) -> None:
        try:
            way.send(batch)
        except Exception as error:
            service_metrics.NOTIFICATIONS_DROPPED.add("not_sent", count=len(batch))
            self._outages[way.name].failed(error)
        else:
            service_metrics.NOTIFICATIONS_SENT.add(way.name, count=len(batch))
            self._outages[way.name].succeeded()


def make_notifier(conf: cfg.ConfigOpts, binary: str, transport_url: str) -> Notifier:
    """Return a notifier that connects on its first notification.

    ``transport_url`` is the service's own broker, used unless ``[oslo_messaging_notifications]
    transport_url`` names another one. Must be used in the process that sends. Raises
    ConfigurationError for an invalid URL.
    """
    options = conf.notifications
    url = _url(conf, transport_url)
    if url is None:
        return SILENT
    ways: list[Channel] = []
    if notification_bus.has_driver(conf):
        ways.append(_bus_channel(conf, url))
    if options.event_feed:
        ways.append(FeedChannel(FeedWriter(conf, url)))
    if not ways:
        return SILENT
    return Notifier(
        f"{binary}:{conf.host}",
        Outbox(ways, size_max=options.queue_size_max),
        default_level=options.default_level,
        notify_on_state_change=options.notify_on_state_change,
    )


def feed_url(conf: cfg.ConfigOpts, transport_url: str) -> str | None:
    """Return the URL of the event feed, None if there is none; for the API."""
    return _url(conf, transport_url) if conf.notifications.event_feed else None


def _url(conf: cfg.ConfigOpts, transport_url: str) -> str | None:
    """Return the broker for notifications, None if nothing is to be sent."""
    if conf.notifications.notification_format == NONE:
        return None
    url = notification_bus.url_of(conf) or transport_url
    return None if notification_bus.is_noop(url) else url


def _bus_channel(conf: cfg.ConfigOpts, url: str) -> BusChannel:
    format_ = conf.notifications.notification_format
    topics = conf.notifications.versioned_notifications_topics
    return BusChannel(
        format_,
        versioned=(
            notification_bus.NotificationBus(conf, url, topics=topics)
            if format_ in (VERSIONED, BOTH)
            else None
        ),
        unversioned=(
            notification_bus.NotificationBus(conf, url) if format_ in (UNVERSIONED, BOTH) else None
        ),
    )


class BusSender(Protocol):
    """oslo.messaging's notifier, as ``rpc.notifications.notification_bus`` makes it."""

    def send(
        self,
        publisher_id: str,
        event_type: str,
        priority: str,
        payload: dict[str, object],
        request_id: str | None,
    ) -> None: ...

    def close(self) -> None: ...


class FeedPublisher(Protocol):
    """The event feed, as ``rpc.notifications.event_feed`` makes it."""

    def publish(self, message: dict[str, object]) -> None: ...

    def close(self) -> None: ...


class BusChannel:
    """Send each notification on the message bus, in the configured formats."""

    name = "bus"

    def __init__(
        self,
        format_: str,
        *,
        versioned: BusSender | None = None,
        unversioned: BusSender | None = None,
    ) -> None:
        self._versioned = versioned if format_ in (VERSIONED, BOTH) else None
        self._unversioned = unversioned if format_ in (UNVERSIONED, BOTH) else None

    def send(self, notifications: Sequence[Notification]) -> None:
        for one in notifications:
            if one.feed_only:
                continue
            head = one.publisher_id, one.event_type, one.priority
            if self._versioned is not None:
                self._versioned.send(*head, one.versioned(), one.request_id)
            if self._unversioned is not None:
                self._unversioned.send(*head, one.unversioned(), one.request_id)

    def close(self) -> None:
        for sends in (self._versioned, self._unversioned):
            if sends is not None:
                sends.close()


class FeedChannel:
    """Publish a whole batch in one message to the current followers."""

    name = "feed"

    def __init__(self, feed: FeedPublisher) -> None:
        self._feed = feed

    def send(self, notifications: Sequence[Notification]) -> None:
        self._feed.publish(
            {"version": FEED_VERSION, "events": [one.line() for one in notifications]}
        )

    def close(self) -> None:
        self._feed.close()
