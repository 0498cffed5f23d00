"""Notifier construction from the configuration."""

from __future__ import annotations

from oslo_config import cfg

from armillary.conf.notifications import BOTH, NONE, UNVERSIONED, VERSIONED
from armillary.notifications.channels import BusChannel, FeedChannel
from armillary.notifications.notifier import SILENT, Notifier
from armillary.notifications.outbox import Channel, Outbox
from rpc import notification_bus
from rpc.event_feed import FeedWriter


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
