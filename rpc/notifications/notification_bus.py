"""Notifications for third parties, through oslo.messaging's configured drivers."""

from collections.abc import Sequence
from typing import Any

import oslo_messaging
import oslo_messaging.opts
from oslo_config import cfg

from armillary import exception
from rpc import memory_transport

NOOP = "noop"
RETRIES = 1
"""Maximum number of retries of a notification; others wait meanwhile."""

_EMBEDDED_SCHEME = "kombu+memory:"


def url_of(conf: cfg.ConfigOpts) -> str | None:
    """Return ``[oslo_messaging_notifications] transport_url``, None if it is not set."""
    url: str | None = _options(conf).transport_url
    return url or None


def is_noop(url: str) -> bool:
    """Return whether a URL disables notifications."""
    return url.partition(":")[0] == NOOP


def has_driver(conf: cfg.ConfigOpts) -> bool:
    """Return whether any driver of ``[oslo_messaging_notifications]`` sends something."""
    return any(name != NOOP for name in _options(conf).driver)


def _options(conf: cfg.ConfigOpts) -> Any:
    for group, options in oslo_messaging.opts.list_opts():
        conf.register_opts(options, group=group)
    return conf.oslo_messaging_notifications


class NotificationBus:
    """oslo.messaging's notifier for the given topics, or else for those of its own options."""

    def __init__(
        self, conf: cfg.ConfigOpts, transport_url: str, topics: Sequence[str] | None = None
    ) -> None:
        try:
            url = oslo_messaging.TransportURL.parse(conf, transport_url)
            if transport_url.startswith(_EMBEDDED_SCHEME):
                url.transport = memory_transport.install()
            self._transport = oslo_messaging.get_notification_transport(conf, url=url)
        except (oslo_messaging.InvalidTransportURL, oslo_messaging.DriverLoadFailure) as error:
            raise exception.ConfigurationError(
                reason="[oslo_messaging_notifications] transport_url is malformed; expected "
                "rabbit://user:password@host:port/vhost"
            ) from error
        self._notifier = oslo_messaging.Notifier(
            self._transport, retry=RETRIES, topics=None if topics is None else list(topics)
        )

    def send(
        self,
        publisher_id: str,
        event_type: str,
        priority: str,
        payload: dict[str, object],
        request_id: str | None,
    ) -> None:
        """Send a notification; the drivers log failures instead of raising."""
        told = getattr(self._notifier.prepare(publisher_id=publisher_id), priority.lower())
        told({"request_id": request_id}, event_type, payload)

    def close(self) -> None:
        """Close the connections."""
        self._transport.cleanup()
