"""The event feed: a message to everybody who listens at that moment, kept for nobody.

It is an exchange without queues of its own: each reader has a queue for as long as it is connected,
exclusive and gone with the connection, so nothing fills up where nobody reads. Readers make it:
where there is none nobody ever listened, and writers, who may not make it, are silent.
Notifications of oslo.messaging cannot be had so: their queues are declared by the sender, stay,
and grow.
"""

from __future__ import annotations

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
from armillary.log_once import OutageLog
from armillary.masking import mask_passwords
from rpc import broker_tls, declaring, memory_transport

LOG = logging.getLogger(__name__)

EXCHANGE = "armillary_events"
CONNECT_SECONDS_MAX = 5.0
HEARTBEAT_SECONDS = 30
WAIT_SECONDS = 0.5
RECONNECT_SECONDS = 1.0
LOOK_AGAIN_SECONDS = 1.0
"""How long a writer that found no feed says nothing."""
WAITING_MESSAGES_MAX = 10_000
"""In a reader's queue at the broker, which then drops the oldest."""

_EMBEDDED = "kombu+memory"


def _exchange() -> Exchange:
    return Exchange(EXCHANGE, type="fanout", durable=True)


def connection_to(conf: cfg.ConfigOpts, transport_url: str, *, heartbeat: int) -> Connection:
    """Return a connection, not yet made, as oslo.messaging makes those of this URL.

    Raises ConfigurationError for a URL that has no usable form.
    """
    try:
        url = oslo_messaging.TransportURL.parse(conf, transport_url)
    except (oslo_messaging.InvalidTransportURL, ValueError) as error:
        raise exception.ConfigurationError(
            reason="transport_url has no usable form for events: expected "
            "rabbit://user:password@host:port/vhost"
        ) from error
    if url.transport == _EMBEDDED:
        memory_transport.install()
        return Connection(f"memory://{url.virtual_host or ''}")
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
    """Publishes on the feed; connects with the first message. For one thread."""

    def __init__(self, conf: cfg.ConfigOpts, transport_url: str) -> None:
        self._connection = connection_to(conf, transport_url, heartbeat=0)
        self._producer: Producer | None = None
        self._is_embedded = transport_url.startswith(_EMBEDDED)
        self._silent_until = 0.0

    def publish(self, message: dict[str, Any]) -> None:
        """Send one message. Raises what kombu raises; a connection that got old is made anew."""
        try:
            self._publish(message)
        except self._connection.recoverable_connection_errors:
            self.close()
            self._publish(message)

    def close(self) -> None:
        """Let go of the connection; the next message makes another."""
        self._producer = None
        with contextlib.suppress(Exception):
            self._connection.release()

    def _publish(self, message: dict[str, Any]) -> None:
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
        """Return a producer; None where there is no feed, or was none a moment ago."""
        if time.monotonic() < self._silent_until:
            return None
        self._connection.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS_MAX)
        channel = self._connection.channel()
        if self._is_embedded:
            _exchange()(channel).declare()
        elif not declaring.is_exchange(channel, EXCHANGE):
            channel.close()
            self._silent_until = time.monotonic() + LOOK_AGAIN_SECONDS
            return None
        return Producer(channel, _exchange(), auto_declare=False)


class FeedReader:
    """Reads the feed in the caller's thread until it is told to stop."""

    def __init__(self, conf: cfg.ConfigOpts, transport_url: str) -> None:
        self._conf = conf
        self._url = transport_url
        self._outage = OutageLog(LOG, "The event feed")
        connection_to(conf, transport_url, heartbeat=0)  # a bad URL is said now

    def run(
        self,
        stop: threading.Event,
        on_message: Callable[[dict[str, Any]], None],
        on_gap: Callable[[bool], None] = lambda is_connected: None,
    ) -> None:
        """Call ``on_message`` for each message; what is no JSON object is left out.

        ``on_gap`` is told when the broker is lost (False) and when it is there (True): what came
        between is missing. Raises nothing.
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
    def _consuming(self, on_message: Callable[[dict[str, Any]], None]) -> Iterator[Connection]:
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
                on_message=lambda message: _hand_on(message, on_message),
            )
            with consumer:
                try:
                    yield connection
                finally:
                    with contextlib.suppress(Exception):  # the broker does it, the embedded one not
                        queue(channel).delete()

    def _drain(self, connection: Connection, stop: threading.Event) -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                connection.drain_events(timeout=WAIT_SECONDS)
            if connection.supports_heartbeats:
                connection.heartbeat_check()


def _hand_on(message: Any, on_message: Callable[[dict[str, Any]], None]) -> None:
    try:
        document = json.loads(message.body)
    except ValueError:
        return
    if isinstance(document, dict):
        on_message(document)
