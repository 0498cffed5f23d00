"""The driver for RabbitMQ, with another idea of queues for answers, and of messages returned.

The driver would make reply queues like those of calls, replicated and written to disk, or else
transient and open to all, which newer releases of RabbitMQ refuse. But an answer concerns one
process, which waits for a while and can go on without. So its queue is exclusive: in memory, gone
with its connection; answers are not acknowledged. An answer that finds no queue, because the
connection is just being made anew, is sent again by the driver, for a minute.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Queue
from oslo_config import cfg
from oslo_messaging import MessageUndeliverable, TransportURL
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging._drivers.amqp import AMQPDestinationNotFound
from oslo_messaging._drivers.common import Timeout
from oslo_messaging.transport import RPCTransport

LOG = logging.getLogger(__name__)

SCHEME = "rabbit"
_PREFIX = "reply"
_FOR_THE_CALLER = (AMQPDestinationNotFound, MessageUndeliverable, Timeout)
"""What the driver never tries again after, at this place."""
_CLASSIC = {"x-queue-type": "classic"}
"""Said, since a virtual host may have another kind as its default."""


def make_transport(
    conf: cfg.ConfigOpts, url: TransportURL, allowed_remote_exmods: Sequence[str]
) -> RPCTransport:
    """Return a transport to RabbitMQ by this driver."""
    driver = _Driver(
        conf,
        url,
        default_exchange=conf.control_exchange,
        allowed_remote_exmods=list(allowed_remote_exmods),
    )
    return RPCTransport(driver)


class _ReplyConsumer(impl_rabbit.Consumer):  # type: ignore[misc]
    """Consumes the answers to one process."""

    queue_name: str

    def __init__(self, queue_name: str, callback: Callable[[Any], None]) -> None:
        super().__init__(
            exchange_name="",  # the default exchange: routing key is the name of the queue
            queue_name=queue_name,
            routing_key="",
            type="direct",
            durable=False,
            exchange_auto_delete=False,
            queue_auto_delete=False,
            callback=callback,
        )

    def declare(self, conn: impl_rabbit.Connection) -> None:
        try:
            self._declare(conn)
        except amqp_exceptions.ResourceLocked:
            # The broker has not noticed yet that a connection of ours is lost, and may take a
            # minute for it. What is sent there is lost, too.
            LOG.warning("The broker holds queue %s for an old connection; taking a new name",
                        self.queue_name)  # fmt: skip
            self.queue_name = _renamed(self.queue_name)
            self._declare(conn)

    def _declare(self, conn: impl_rabbit.Connection) -> None:
        self.queue = Queue(
            name=self.queue_name,
            channel=conn.channel,
            exchange=self.exchange,
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

    def on_return(self, exception: Any, exchange: str, routing_key: str, message: Any) -> None:
        self._returned = MessageUndeliverable(exception, exchange, routing_key, message)

    def _publish(self, *message: Any, **how: Any) -> None:
        self._returned = None
        super()._publish(*message, **how)
        if self._returned is not None:
            raise self._returned

    def declare_direct_consumer(self, topic: str, callback: Callable[[Any], None]) -> None:
        self.reply_consumer = _ReplyConsumer(topic, callback)
        self.declare_consumer(self.reply_consumer)


class _Driver(impl_rabbit.RabbitDriver):  # type: ignore[misc]
    """The driver of RabbitMQ with such connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connection_pool.connection_cls = _Connection

    def _get_reply_queue_name(self) -> str:
        named = self.conf.oslo_messaging_rabbit
        return _renamed(f"{_PREFIX}_{named.hostname}:{named.processname}:")

    def _get_reply_q(self) -> str:
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


def _renamed(name: str) -> str:
    """Return a name that nobody else has, alike up to its last part."""
    return f"{name.rpartition(':')[0]}:{uuid.uuid4().hex}"
