"""Event feed: transient messages to all current listeners.

The feed is an exchange without queues of its own. Each reader has an exclusive queue for as long as
it is connected, so nothing accumulates without readers. Readers create the exchange. Until one has,
there are no listeners, and writers, which may not create it, drop their messages. oslo.messaging's
notifications cannot do this: the sender declares their queues, which persist and grow.
"""

import contextlib
import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import oslo_messaging
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.messaging import Consumer, Producer
from oslo_config import cfg

from armillary import exception
from armillary.logs.masking import mask_passwords
from armillary.logs.outage_log import OutageLog
from rpc import memory_transport
from rpc.broker import broker_tls, exchanges, plain_messages

LOG = logging.getLogger(__name__)

EXCHANGE = "armillary_events"
CONNECT_SECONDS_MAX = 5.0
HEARTBEAT_SECONDS = 30
WAIT_SECONDS = 0.5
RECONNECT_SECONDS = 1.0
RECHECK_SECONDS = 1.0
"""Seconds that a writer drops messages after it found no feed."""
WAITING_MESSAGES_MAX = 10_000
"""Maximum length of a reader's queue; the broker drops the oldest messages beyond it."""

_EMBEDDED = "kombu+memory"


def _exchange() -> Exchange:
    return Exchange(EXCHANGE, type="fanout", durable=True)


def connection_to(conf: cfg.ConfigOpts, transport_url: str, *, heartbeat: int) -> Connection:
    """Return an unconnected connection equivalent to oslo.messaging's for this URL.

    Raises ConfigurationError for a malformed URL.
    """
    try:
        url = oslo_messaging.TransportURL.parse(conf, transport_url)
    except (oslo_messaging.InvalidTransportURL, ValueError) as error:
        raise exception.ConfigurationError(
            reason="transport_url is malformed for events; expected "
            "rabbit://user:password@host:port/vhost"
        ) from error
    if url.transport == _EMBEDDED:
        memory_transport.install()
        return Connection(f"{memory_transport.ALIAS}://{url.virtual_host or ''}")
    plain_messages.install()
    vhost = quote(url.virtual_host or "", safe="")
    hosts = url.hosts or [oslo_messaging.TransportHost("localhost", 5672, "guest", "guest")]
    return Connection(
        ";".join(f"pyamqp://{_address(host)}/{vhost}" for host in hosts),
        ssl=broker_tls.settings(conf, hosts),
        login_method=conf[broker_tls.GROUP].rabbit_login_method,
        heartbeat=heartbeat,
        connect_timeout=CONNECT_SECONDS_MAX,
    )


def _address(host: oslo_messaging.TransportHost) -> str:
    user, password = quote(host.username or "", safe=""), quote(host.password or "", safe="")
    name = f"[{host.hostname}]" if ":" in (host.hostname or "") else host.hostname
    return f"{user}:{password}@{name}:{host.port or 5672}"


class FeedWriter:
    """Publishes on the feed; connects with the first message. Not thread-safe."""

    def __init__(self, conf: cfg.ConfigOpts, transport_url: str) -> None:
        self._connection = connection_to(conf, transport_url, heartbeat=0)
        self._producer: Producer | None = None
        self._is_embedded = transport_url.startswith(_EMBEDDED)
        self._silent_until = 0.0

    def publish(self, message: dict[str, object]) -> None:
        """Send one message; reconnect once if the connection is lost. Raises kombu's exceptions."""
        try:
            self._publish(message)
        except self._connection.recoverable_connection_errors:
            self.close()
            self._publish(message)

    def close(self) -> None:
        """Close the connection; the next message opens another."""
        self._producer = None
        with contextlib.suppress(Exception):
            self._connection.release()

    def _publish(self, message: dict[str, object]) -> None:
        if self._producer is None:
            self._producer = self._find_producer()
        if self._producer is None:
            return
        body = json.dumps(message).encode()
        self._producer.publish(
            body,
            content_type="application/json",
            content_encoding="utf-8",
            delivery_mode="transient",
        )

    def _find_producer(self) -> Producer | None:
        """Return a producer; None if there is no feed, or was none a moment ago."""
        if time.monotonic() < self._silent_until:
            return None
        self._connection.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS_MAX)
        channel = self._connection.channel()
        if self._is_embedded:
            _exchange()(channel).declare()
        elif not exchanges.is_exchange(channel, EXCHANGE):
            channel.close()
            self._silent_until = time.monotonic() + RECHECK_SECONDS
            return None
        return Producer(channel, _exchange(), auto_declare=False)


class FeedReader:
    """Reads the feed in the caller's thread until stopped."""

    def __init__(self, conf: cfg.ConfigOpts, transport_url: str) -> None:
        self._conf = conf
        self._url = transport_url
        self._outage = OutageLog(LOG, "The event feed")
        connection_to(conf, transport_url, heartbeat=0)  # fail early on a malformed URL

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, object]], None],
        on_gap: Callable[[bool], None] = lambda is_connected: None,
    ) -> None:
        """Call ``on_message`` for each message; ignore messages that are not JSON objects.

        ``on_gap`` is called with False when the broker is lost and with True when it is connected:
        messages in between are missing. Raises nothing.
        """
        while not stop.is_set():
            try:
                with self._consuming(on_message) as connection:
                    self._outage.succeeded()
                    on_gap(True)
                    self._drain(connection, stop)
            except Exception as error:
                self._outage.failed(mask_passwords(error))
                on_gap(False)
                stop.wait(RECONNECT_SECONDS)

    @contextlib.contextmanager
    def _consuming(self, on_message: Callable[[dict[str, object]], None]) -> Iterator[Connection]:
        with connection_to(self._conf, self._url, heartbeat=HEARTBEAT_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS_MAX)
            channel = connection.channel()
            queue = Queue(
                f"{EXCHANGE}.{uuid.uuid4().hex}",
                exchange=_exchange(),
                durable=False,
                exclusive=True,
                auto_delete=True,
                max_length=WAITING_MESSAGES_MAX,
            )
            consumer = Consumer(
                channel,
                [queue],
                no_ack=True,
                on_message=lambda message: _deliver_json(message, on_message),
                on_decode_error=_ignore,
            )
            with consumer:
                try:
                    yield connection
                finally:
                    with contextlib.suppress(Exception):  # the embedded broker does not delete it
                        queue(channel).delete()

    def _drain(self, connection: Connection, stop: threading.Event) -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                connection.drain_events(timeout=WAIT_SECONDS)
            if connection.supports_heartbeats:
                connection.heartbeat_check()


def _ignore(_message: Any, _error: Exception) -> None:
    """Leave out a message that is not plain; kombu would end the connection."""


def _deliver_json(message: Any, on_message: Callable[[dict[str, object]], None]) -> None:
    try:
        document = json.loads(message.body)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        on_message(document)
