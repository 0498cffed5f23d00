"""Build a notifier from the configuration: which ways there are, and none when nobody listens."""

from __future__ import annotations

from oslo_config import cfg

from armillary.conf.notifications import BOTH, NONE, UNVERSIONED, VERSIONED
from armillary.notifications.notifier import SILENT, Notifier
from armillary.notifications.outbox import Outbox, Way
from armillary.notifications.ways import BusWay, FeedWay
from rpc import notification_bus
from rpc.event_feed import FeedWriter


def make_notifier(conf: cfg.ConfigOpts, binary: str, transport_url: str) -> Notifier:
    """Return a notifier that connects when it has something to tell.

    ``transport_url`` is the service's own broker, where ``[oslo_messaging_notifications]
    transport_url`` names no other. For use in the process that tells. Raises ConfigurationError
    for a URL that has no usable form.
    """
    options = conf.notifications
    url = _url(conf, transport_url)
    if url is None:
        return SILENT
    ways: list[Way] = []
    if notification_bus.has_driver(conf):
        ways.append(_bus_way(conf, url))
    if options.event_feed:
        ways.append(FeedWay(FeedWriter(conf, url)))
    if not ways:
        return SILENT
    return Notifier(
        f"{binary}:{conf.host}",
        Outbox(ways, size_max=options.queue_size_max),
        default_level=options.default_level,
        notify_on_state_change=options.notify_on_state_change,
    )


def feed_url(conf: cfg.ConfigOpts, transport_url: str) -> str | None:
    """Return where the event feed is read, None when there is none; for the API."""
    return _url(conf, transport_url) if conf.notifications.event_feed else None


def _url(conf: cfg.ConfigOpts, transport_url: str) -> str | None:
    """Return the broker of notifications, None when nothing is to be sent at all."""
    if conf.notifications.notification_format == NONE:
        return None
    url = notification_bus.url_of(conf) or transport_url
    return None if notification_bus.is_noop(url) else url


def _bus_way(conf: cfg.ConfigOpts, url: str) -> BusWay:
    format_ = conf.notifications.notification_format
    topics = conf.notifications.versioned_notifications_topics
    return BusWay(
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
