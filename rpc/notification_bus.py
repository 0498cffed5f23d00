"""Notifications for third parties, through the drivers of oslo.messaging that operators name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oslo_messaging
import oslo_messaging.opts
from oslo_config import cfg

from armillary import exception
from rpc import memory_transport

NOOP = "noop"
RETRIES = 1
"""How often a notification is tried again; more wait behind it."""

_EMBEDDED_SCHEME = "kombu+memory:"


def url_of(conf: cfg.ConfigOpts) -> str | None:
    """Return ``[oslo_messaging_notifications] transport_url``, None when nobody set it."""
    url: str | None = _options(conf).transport_url
    return url or None


def is_noop(url: str) -> bool:
    """Tell whether a URL says that nothing is to be sent."""
    return url.partition(":")[0] == NOOP


def has_driver(conf: cfg.ConfigOpts) -> bool:
    """Tell whether any driver of ``[oslo_messaging_notifications]`` sends something."""
    return any(name != NOOP for name in _options(conf).driver)


def _options(conf: cfg.ConfigOpts) -> Any:
    for group, options in oslo_messaging.opts.list_opts():
        conf.register_opts(options, group=group)
    return conf.oslo_messaging_notifications


class NotificationBus:
    """oslo.messaging's notifier on some topics; without any on those of its own options."""

    def __init__(
        self, conf: cfg.ConfigOpts, transport_url: str, topics: Sequence[str] | None = None
    ) -> None:
        if transport_url.startswith(_EMBEDDED_SCHEME):
            memory_transport.install()
        try:
            self._transport = oslo_messaging.get_notification_transport(conf, url=transport_url)
        except (oslo_messaging.InvalidTransportURL, oslo_messaging.DriverLoadFailure) as error:
            raise exception.ConfigurationError(
                reason="[oslo_messaging_notifications] transport_url has no usable form: expected "
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
        payload: dict[str, Any],
        request_id: str | None,
    ) -> None:
        """Send one; the drivers log, and do not raise, what keeps them from it."""
        told = getattr(self._notifier.prepare(publisher_id=publisher_id), priority.lower())
        told({"request_id": request_id}, event_type, payload)

    def close(self) -> None:
        """Let go of connections."""
        self._transport.cleanup()
