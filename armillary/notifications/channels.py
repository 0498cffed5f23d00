"""Channels of notifications: the message bus, which keeps them, and the live event feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from armillary.conf.notifications import BOTH, UNVERSIONED, VERSIONED
from armillary.notifications.notification import FEED_VERSION, Notification


class BusSender(Protocol):
    """oslo.messaging's notifier, as ``rpc.notification_bus`` makes it."""

    def send(
        self,
        publisher_id: str,
        event_type: str,
        priority: str,
        payload: dict[str, Any],
        request_id: str | None,
    ) -> None: ...

    def close(self) -> None: ...


class FeedPublisher(Protocol):
    """The event feed, as ``rpc.event_feed`` makes it."""

    def publish(self, message: dict[str, Any]) -> None: ...

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
