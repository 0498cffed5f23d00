"""Consumers of RabbitMQ: of topics, of fanouts that others create, and of one process's replies.

Each creates on the broker what it consumes from, as far as ``rpc.broker.topics`` says that its
account may.
"""

import collections
import contextlib
import datetime
import logging
import uuid
import zlib
from collections.abc import Callable
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange, Queue

from rpc import oslo_internals
from rpc.broker import exchanges, topics

LOG = logging.getLogger(__name__)

_AT_THE_END = "last"
_HEARD_AGAIN = datetime.timedelta(seconds=5)
"""What a message may take to its consumer, and clocks may differ by."""
_CLASSIC = {"x-queue-type": "classic"}
"""Explicit, since a virtual host may have another default queue type."""
_REMEMBERED_MAX = 4096
"""Messages of a stream that are recognised: more than come in a few seconds."""

Connection = Any
"""That of ``rpc.rabbit``, which is derived from one of oslo.messaging without types."""

_StreamPlace = tuple[int, int]
"""Offset of a message in its stream, and a checksum of its contents."""


class TopicConsumer(oslo_internals.Consumer):  # type: ignore[misc]
    """Consumes messages to a topic, or to one server of it."""

    def declare(self, conn: Connection) -> None:
        exchanges.make_exchange(conn.channel, self.exchange)
        self.exchange.no_declare = True
        super().declare(conn)
        with contextlib.suppress(exchanges.NotDeclaredYet):  # this account may not create it
            exchanges.make_exchange(conn.channel, conn.replies_exchange())
        topic = topics.topic_of(self.routing_key)
        if topics.find(topic).has_direct_exchange:
            _bind_to_direct_exchange(conn, topic, self.queue, self.routing_key)
        self.make_fanouts(conn)

    def make_fanouts(self, conn: Connection) -> None:
        """Create the fanouts of others that are missing and that its topic's servers create."""
        for other in topics.find(topics.topic_of(self.routing_key)).makes_fanouts_of:
            conn.make_fanout(other)


class _SharedFanoutConsumer(oslo_internals.Consumer):  # type: ignore[misc]
    """Consumes a fanout's stream that others create; creates it only if it is missing.

    On a new connection it continues at the time of the last message, not at its number: a broker
    that lost its data counts from 0 again, and a consumer of a number beyond the end receives
    nothing until the stream is as long as before. What the broker sends again is dropped silently:
    a message at the same place of the stream with the same contents. A replay has another place.
    """

    _heard_at: datetime.datetime | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._heard: collections.deque[_StreamPlace] = collections.deque(maxlen=_REMEMBERED_MAX)
        self._places: set[_StreamPlace] = set()

    def _callback(self, message: Any) -> None:
        place = _place_in_stream(message)
        if place in self._places:
            LOG.debug("Dropped a message of %s that was received before", self.queue_name)
            message.channel.basic_ack(message.delivery_tag)
            return
        self._remember(place)
        self._heard_at = datetime.datetime.now(datetime.UTC)
        super()._callback(message)

    def _remember(self, place: _StreamPlace | None) -> None:
        if place is None:
            return
        if len(self._heard) == _REMEMBERED_MAX:
            self._places.discard(self._heard[0])
        self._heard.append(place)
        self._places.add(place)

    def _offset(self) -> Any:
        """Return where to begin: at the end, or a little before the last message."""
        if self._heard_at is None or self.next_stream_offset == _AT_THE_END:
            return _AT_THE_END
        return self._heard_at - _HEARD_AGAIN

    def declare(self, conn: Connection) -> None:
        if not exchanges.is_queue(conn.channel, self.queue_name):
            exchanges.make_stream(conn.channel, self.exchange, self.queue_arguments)
        self.queue = Queue(
            name=self.queue_name,
            channel=conn.channel,
            exchange=self.exchange,
            durable=True,
            routing_key=self.routing_key,
            queue_arguments=self.queue_arguments,
            consumer_arguments={"x-stream-offset": self._offset()},
        )
        self._declared_on = conn.channel


class ReplyConsumer(oslo_internals.Consumer):  # type: ignore[misc]
    """Consumes the replies to one process."""

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

    def declare(self, conn: Connection) -> None:
        exchanges.make_exchange(conn.channel, self.exchange)
        self.exchange.no_declare = True
        try:
            self._declare(conn)
        except amqp_exceptions.ResourceLocked:
            # The broker may take a minute to notice that an earlier connection of this process is
            # lost. Messages to its queue are lost, too.
            LOG.warning("Queue %s is still locked by an old connection; using a new name",
                        self.queue_name)  # fmt: skip
            self.queue_name = _renamed(self.queue_name)
            self._declare(conn)

    def _declare(self, conn: Connection) -> None:
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


def topic_exchange(name: str, **options: Any) -> Exchange:
    """Return an exchange of type topic."""
    return Exchange(name=name, type="topic", **options)


def topic_consumer(
    conn: Connection, exchange_name: str, topic: str, callback: Callable[[Any], None] | None
) -> TopicConsumer:
    """Return the driver's consumer of a topic, in our class."""
    return TopicConsumer(
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


def shared_fanout_consumer(
    conn: Connection, topic: str, callback: Callable[[Any], None]
) -> _SharedFanoutConsumer:
    """Return a consumer of the stream of a topic's fanout."""
    name = topics.fanout(topic)
    return _SharedFanoutConsumer(
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


def _bind_to_direct_exchange(conn: Connection, topic: str, queue: Queue, routing_key: str) -> None:
    """Bind a queue to its topic's direct exchange as well."""
    exchange = topic_exchange(topics.direct_exchange(conn.control_exchange, topic), durable=True)
    exchanges.make_exchange(conn.channel, exchange)
    queue.bind_to(exchange, routing_key=routing_key)


def _place_in_stream(message: Any) -> _StreamPlace | None:
    """Return where a message is in its stream; None if the broker does not say."""
    offset = message.headers.get("x-stream-offset")
    if offset is None:
        return None
    body = message.body
    return int(offset), zlib.crc32(body.encode() if isinstance(body, str) else body)


def _renamed(name: str) -> str:
    """Return a unique name with the same first parts."""
    return f"{name.rpartition(':')[0]}:{uuid.uuid4().hex}"
