"""The driver for RabbitMQ, with another idea of queues for answers, and of messages returned.

What a topic has on the broker, and who makes it, is told by ``rpc.topics``: here it is done so that
each process gets on with an account that may do nothing beyond that.

The driver would make reply queues like those of calls, replicated and written to disk, or else
transient and open to all, which newer releases of RabbitMQ refuse. But an answer concerns one
process, which waits for a while and can go on without. So its queue is exclusive: in memory, gone
with its connection; answers are not acknowledged. An answer that finds no queue, because the
connection is just being made anew, is sent again by the driver, for a minute.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import socket
import uuid
from collections.abc import Callable
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange, Queue
from oslo_config import cfg
from oslo_messaging import MessageUndeliverable, TransportOptions, TransportURL
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging._drivers.amqp import AMQPDestinationNotFound
from oslo_messaging._drivers.common import PURPOSE_LISTEN, Timeout

from rpc import broker_tls, declaring, patience, topics

LOG = logging.getLogger(__name__)

SCHEME = "rabbit"
_NO_USER = "guest"
_FOR_THE_CALLER = (AMQPDestinationNotFound, MessageUndeliverable, Timeout)
"""What the driver never tries again after, at this place."""
_CLASSIC = {"x-queue-type": "classic"}
"""Said, since a virtual host may have another kind as its default."""
_MUST_BE_ROUTED = TransportOptions(at_least_once=True)


class _TopicConsumer(impl_rabbit.Consumer):  # type: ignore[misc]
    """Consumes what is sent to a topic, or to one server of it."""

    def declare(self, conn: _Connection) -> None:
        declaring.make_exchange(conn.channel, self.exchange)
        self.exchange.no_declare = True
        super().declare(conn)
        with contextlib.suppress(declaring.NotThereYet):  # whose answers go there may not be ours
            declaring.make_exchange(conn.channel, conn.replies_exchange())
        topic = topics.topic_of(self.routing_key)
        if topics.find(topic).has_door:
            _bind_to_door(conn, topic, self.queue, self.routing_key)
        for other in topics.find(topic).makes_fanouts_of:
            conn.make_fanout(other)


class _LentFanoutConsumer(impl_rabbit.Consumer):  # type: ignore[misc]
    """Consumes a fanout's stream that others make; it makes it only where it is missing."""

    def declare(self, conn: _Connection) -> None:
        if not declaring.is_queue(conn.channel, self.queue_name):
            declaring.make_stream(conn.channel, self.exchange, self.queue_arguments)
        self.queue = Queue(
            name=self.queue_name,
            channel=conn.channel,
            exchange=self.exchange,
            durable=True,
            routing_key=self.routing_key,
            queue_arguments=self.queue_arguments,
            consumer_arguments={"x-stream-offset": self.next_stream_offset},
        )
        self._declared_on = conn.channel


class _ReplyConsumer(impl_rabbit.Consumer):  # type: ignore[misc]
    """Consumes the answers to one process."""

    queue_name: str

    def __init__(
        self, exchange_name: str, queue_name: str, callback: Callable[[Any], None]
    ) -> None:
        super().__init__(
            exchange_name=exchange_name,
            queue_name=queue_name,
            routing_key=queue_name,
            type="topic",
            durable=True,
            exchange_auto_delete=False,
            queue_auto_delete=False,
            callback=callback,
        )

    def declare(self, conn: _Connection) -> None:
        declaring.make_exchange(conn.channel, self.exchange)
        self.exchange.no_declare = True
        try:
            self._declare(conn)
        except amqp_exceptions.ResourceLocked:
            # The broker has not noticed yet that a connection of ours is lost, and may take a
            # minute for it. What is sent there is lost, too.
            LOG.warning("The broker holds queue %s for an old connection; taking a new name",
                        self.queue_name)  # fmt: skip
            self.queue_name = _renamed(self.queue_name)
            self._declare(conn)

    def _declare(self, conn: _Connection) -> None:
        self.queue = Queue(
            name=self.queue_name,
            channel=conn.channel,
            exchange=self.exchange,
            routing_key=self.queue_name,
            durable=False,
            exclusive=True,
            no_ack=True,
            queue_arguments=_CLASSIC,
        )
        self.queue.declare()
        self._declared_on = conn.channel


class _Connection(impl_rabbit.Connection):  # type: ignore[misc]
    """A connection whose direct consumers, those of answers, have exclusive queues.

    What the broker returns for want of a queue is said when the broker has confirmed it, too: the
    driver may leave the confirmation to the next message, and that one's return to the one after.
    """

    _returned: Exception | None = None
    _bell: patience.Doorbell | None = None

    def __init__(
        self, conf: cfg.ConfigOpts, url: TransportURL, *arguments: Any, **options: Any
    ) -> None:
        self.control_exchange: str = conf.control_exchange
        self._tls = broker_tls.settings(conf, url.hosts)
        super().__init__(conf, url, *arguments, **options)
        if self.purpose == PURPOSE_LISTEN and patience.may_wait():
            self._bell = patience.Doorbell()

    def _fetch_ssl_params(self) -> dict[str, Any] | bool:
        return dict(self._tls) if isinstance(self._tls, dict) else False

    def ensure(self, method: Callable[[], Any], *retries: Any, **how: Any) -> Any:
        """Do it, and prepare for trying again, which takes longer than to do it, if it fails."""
        if self.channel is None:
            return super().ensure(method, *retries, **how)
        try:
            return method()
        except _FOR_THE_CALLER:
            raise
        except Exception as error:
            return super().ensure(_after(error, method), *retries, **how)

    def consume(self, timeout: float | None = None) -> None:
        """Consume what is there or comes; ``timeout`` is the library's idea of when to look up."""
        source = self._at_rest()
        if self._bell is None or source is None:
            super().consume(timeout)
            return
        woken = self._bell.wait(source, self._poll_timeout)
        if woken is patience.Woken.BY_BELL:
            return
        is_message = woken is patience.Woken.BY_MESSAGE
        super().consume(patience.READ_SECONDS if is_message else patience.GLANCE_SECONDS)

    def _at_rest(self) -> socket.socket | None:
        """Return the socket that the next message comes from; None if there is more to do."""
        if self._new_tags or self.channel is None or not self.connection.connected:
            return None
        transport = self.channel.connection.transport
        return None if patience.unread(transport) else transport.sock

    def stop_consuming(self) -> None:
        super().stop_consuming()
        if self._bell is not None:
            self._bell.ring()

    def close(self) -> None:
        super().close()
        if self._bell is not None:
            self._bell.close()

    def on_return(self, exception: Any, exchange: str, routing_key: str, message: Any) -> None:
        self._returned = MessageUndeliverable(exception, exchange, routing_key, message)

    def topic_send(
        self, exchange_name: str, topic: str, msg: Any, timeout: Any = None, retry: Any = None,
        transport_options: Any = None,
    ) -> None:  # fmt: skip
        """Send to a topic or one server of it: through its door, where its servers know of one."""
        name = topics.topic_of(topic)
        publish = self._publish
        if topics.find(name).has_door:
            publish = functools.partial(self._publish_at_door, topics.door(exchange_name, name))
        self._ensure_publishing(
            publish,
            _topic_exchange(exchange_name, durable=self.durable, auto_delete=self.amqp_auto_delete),
            msg,
            routing_key=topic,
            timeout=timeout,
            retry=retry,
            transport_options=transport_options,
        )

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Answer, through the exchange that the asking process has bound its queue to."""
        if not msg_id.startswith(topics.REPLY_PREFIX):  # of a peer of an older release
            super().direct_send(msg_id, msg)
            return
        exchange = _topic_exchange(topics.replies(self.control_exchange), passive=True)
        self._ensure_publishing(
            self._publish_and_raises_on_missing_exchange,
            exchange,
            msg,
            routing_key=msg_id,
            transport_options=_MUST_BE_ROUTED,
        )

    def replies_exchange(self) -> Exchange:
        """Return the exchange that answers go through; who serves makes it, where it may."""
        return _topic_exchange(topics.replies(self.control_exchange), durable=True)

    def make_replies(self) -> None:
        """Make that exchange. Raises MessageUndeliverable where we may not, and nobody served."""
        with self._connection_lock:
            self.ensure(lambda: self._is_made(self.replies_exchange()))

    def make_fanout(self, topic: str) -> None:
        """Make a topic's fanout for servers that may only read it, where it is a stream."""
        if self.rabbit_stream_fanout:
            consumer = _lent_fanout_consumer(self, topic, _nobody)
            declaring.make_stream(self.channel, consumer.exchange, consumer.queue_arguments)

    def _publish(self, exchange: Any, *message: Any, **how: Any) -> None:
        if not self._is_made(exchange):
            return
        self._returned = None
        super()._publish(exchange, *message, **how)
        if self._returned is not None:
            raise self._returned

    def _publish_at_door(self, name: str, exchange: Any, *message: Any, **how: Any) -> None:
        """Publish at the exchange of that name, which its servers make; else at the given one."""
        if name in self._declared_exchanges or declaring.is_exchange(self.channel, name):
            self._declared_exchanges.add(name)
            exchange = _topic_exchange(name, passive=True)
        self._publish(exchange, *message, **how)

    def _is_made(self, exchange: Any) -> bool:
        """Make an exchange where it is missing.

        Return False for a fanout that nobody ever listened to and that we may not make. Raises
        MessageUndeliverable for anything else that we may not make.
        """
        if exchange.passive or exchange.name in self._declared_exchanges:
            return True
        try:
            declaring.make_exchange(self.channel, exchange)
        except declaring.NotThereYet as error:
            if exchange.type == "fanout":
                return False
            raise MessageUndeliverable(error, exchange.name, None, None) from error
        self._declared_exchanges.add(exchange.name)
        return True

    def declare_direct_consumer(self, topic: str, callback: Callable[[Any], None]) -> None:
        replies = topics.replies(self.control_exchange)
        self.reply_consumer = _ReplyConsumer(replies, topic, callback)
        self.declare_consumer(self.reply_consumer)

    def declare_topic_consumer(
        self,
        exchange_name: str,
        topic: str,
        callback: Callable[[Any], None] | None = None,
        queue_name: str | None = None,
    ) -> None:
        if topics.has_queue(topic):
            self.declare_consumer(_topic_consumer(self, exchange_name, topic, callback))

    def declare_fanout_consumer(self, topic: str, callback: Callable[[Any], None]) -> None:
        if topics.find(topic).is_fanout_made_by_others and self.rabbit_stream_fanout:
            self.declare_consumer(_lent_fanout_consumer(self, topic, callback))
        else:
            super().declare_fanout_consumer(topic, callback)


class Driver(impl_rabbit.RabbitDriver):  # type: ignore[misc]
    """The driver of RabbitMQ with such connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connection_pool.connection_cls = _Connection

    def _get_reply_queue_name(self) -> str:
        named = self.conf.oslo_messaging_rabbit
        hosts = self._url.hosts
        account = (hosts[0].username if hosts else None) or _NO_USER
        process = f"{named.hostname}:{named.processname}"
        return topics.reply_queue(account, process, uuid.uuid4().hex)

    def _get_reply_q(self) -> str:
        if self._reply_q is None:
            with self._get_connection() as connection:
                connection.make_replies()
        super()._get_reply_q()
        name: str = self._reply_q_conn.reply_consumer.queue_name
        return name


def _after(error: Exception, method: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that raises the error when called first, and then does what it is for."""
    errors = [error]

    def again() -> Any:
        if errors:
            raise errors.pop()
        return method()

    return again


def _topic_exchange(name: str, **options: Any) -> Exchange:
    return Exchange(name=name, type="topic", **options)


def _bind_to_door(conn: _Connection, topic: str, queue: Queue, routing_key: str) -> None:
    """Bind a queue to its topic's own exchange, too."""
    exchange = _topic_exchange(topics.door(conn.control_exchange, topic), durable=True)
    declaring.make_exchange(conn.channel, exchange)
    queue.bind_to(exchange, routing_key=routing_key)


def _topic_consumer(
    conn: _Connection, exchange_name: str, topic: str, callback: Callable[[Any], None] | None
) -> _TopicConsumer:
    """Return the driver's consumer of a topic, in our kind."""
    return _TopicConsumer(
        exchange_name=exchange_name,
        queue_name=topic,
        routing_key=topic,
        type="topic",
        durable=conn.durable,
        exchange_auto_delete=conn.amqp_auto_delete,
        queue_auto_delete=conn.amqp_auto_delete,
        callback=callback,
        rabbit_ha_queues=conn.rabbit_ha_queues,
        enable_cancel_on_failover=conn.enable_cancel_on_failover,
        rabbit_quorum_queue=conn.rabbit_quorum_queue,
        rabbit_quorum_queue_config=conn.rabbit_quorum_queue_config,
    )


def _lent_fanout_consumer(
    conn: _Connection, topic: str, callback: Callable[[Any], None]
) -> _LentFanoutConsumer:
    """Return a consumer of the stream of a topic's fanout."""
    name = topics.fanout(topic)
    return _LentFanoutConsumer(
        exchange_name=name,
        queue_name=name,
        routing_key=topic,
        type="fanout",
        durable=True,
        exchange_auto_delete=True,
        queue_auto_delete=False,
        callback=callback,
        rabbit_queue_ttl=conn.rabbit_transient_queues_ttl,
        rabbit_stream_fanout=True,
    )


def _nobody(_message: Any) -> None:
    """Take a message that never comes."""


def _renamed(name: str) -> str:
    """Return a name that nobody else has, alike up to its last part."""
    return f"{name.rpartition(':')[0]}:{uuid.uuid4().hex}"
