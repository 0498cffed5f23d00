"""RabbitMQ driver with exclusive reply queues and reliable reports of undeliverable messages.

``rpc.broker.topics`` says what a topic has on the broker and who creates it. This driver implements
it such that each process needs no further permissions.

oslo.messaging's reply queues would be replicated and written to disk like those of calls, or
transient and not exclusive, which newer releases of RabbitMQ refuse. But a reply concerns one
process, which waits for a limited time and can do without. So its queue is exclusive: in memory and
deleted with its connection, with no acknowledgements. The driver resends a reply that finds no
queue, because the connection is being re-established, for up to a minute.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

from amqp import exceptions as amqp_exceptions
from kombu.entity import Exchange
from kombu.exceptions import OperationalError
from oslo_config import cfg
from oslo_messaging import (
    MessageDeliveryFailure,
    MessageUndeliverable,
    MessagingTimeout,
    TransportOptions,
    TransportURL,
)

from rpc import incoming, oslo_internals, polling, send_limit
from rpc.broker import broker_tls, consumers, exchanges, topics
from rpc.broker.queue_names import FanoutNames
from rpc.replies import VerifiesReplies

LOG = logging.getLogger(__name__)

SCHEME = "rabbit"
_NO_USER = "guest"
_FOR_THE_CALLER = (
    oslo_internals.DestinationNotFound, MessageUndeliverable, oslo_internals.Timeout,
    incoming.QueueRefused,
)  # fmt: skip
"""Exceptions that the driver never retries here."""
_ESTABLISHED = 1  # of TCP in Linux
_RECONNECT_SECONDS_MAX = 5.0
"""How long the heartbeat's thread may keep a connection from its user to connect again."""
FANOUTS_SECONDS = 10.0
"""How often a process looks for the fanouts that it creates for others."""
_MUST_BE_ROUTED = TransportOptions(at_least_once=True)


class _Connection(oslo_internals.Connection):  # type: ignore[misc]
    """A connection whose direct consumers, those for replies, have exclusive queues.

    Undeliverable messages are also reported after the broker's confirm: the driver may process a
    confirm only with the next message, and then report the message after that.
    """

    _returned: Exception | None = None
    _wakeup: polling.Wakeup | None = None
    _heartbeat_due = 0.0
    _fanouts_due = 0.0
    _is_set_up = False
    _is_socket_limited = False
    _q_manager: Any
    outage = send_limit.Outage()  # replaced by that of the driver

    def __init__(
        self, conf: cfg.ConfigOpts, url: TransportURL, *arguments: Any, **options: Any
    ) -> None:
        self.control_exchange: str = conf.control_exchange
        self._tls = broker_tls.settings(conf, url.hosts)
        super().__init__(conf, url, *arguments, **options)
        self._is_set_up = True
        if self._q_manager is not None:
            self._q_manager = FanoutNames(conf)
        if self.purpose == oslo_internals.PURPOSE_LISTEN and polling.may_block():
            self._wakeup = polling.Wakeup()

    def _fetch_ssl_params(self) -> dict[str, object] | bool:
        return dict(self._tls) if isinstance(self._tls, dict) else False

    def ensure_connection(self) -> None:
        """Connect; within the caller's limit, and in the heartbeat's thread for a few seconds."""
        limit = send_limit.remaining_seconds()
        if limit is None and self._is_set_up:
            limit = _RECONNECT_SECONDS_MAX
        if limit is None:
            super().ensure_connection()
            return
        self._set_current_channel(None)
        if not self.connection.connected:
            self.connection.collect()  # kombu would drop the broken one with its socket open
        self.connection.connect_timeout = min(limit, _RECONNECT_SECONDS_MAX)
        try:
            with self.outage.waiting():
                self.connection.ensure_connection(
                    errback=lambda error, _seconds: self._failed(error),
                    interval_start=self.interval_start,
                    interval_step=self.interval_stepping,
                    interval_max=self.interval_max,
                    timeout=limit,
                )
        except (OSError, amqp_exceptions.AMQPError, OperationalError) as error:
            raise send_limit.failure(error) from error
        with contextlib.suppress(AttributeError):  # it has been closed again
            self.connection.connection.sock.settimeout(limit)  # not that of a connection in use yet
        self._set_current_channel(self.connection.channel())
        self.set_transport_socket_timeout()
        self.outage.ended()

    def set_transport_socket_timeout(self, timeout: float | None = None) -> None:
        """Set how long a read or write may take: no longer than what is left of the caller's limit.

        The library gives the whole of the limit to each publishing, also to one that was begun
        again after a connection was lost.
        """
        is_shared = self.purpose == oslo_internals.PURPOSE_LISTEN  # as that of all replies
        left = None if is_shared else send_limit.remaining_seconds()
        self._is_socket_limited = left is not None
        if left is not None:
            timeout = left if timeout is None else min(timeout, left)
        super().set_transport_socket_timeout(timeout)

    def ensure(self, method: Callable[[], Any], *retries: Any, **how: Any) -> Any:
        """Run ``method``; set up the driver's costly retries only after a failure.

        Closes the connection if they fail, too: kombu would keep a channel that the broker closed.
        """
        if self._is_closed_by_broker():
            self._set_current_channel(None)
            self.connection.collect()
        if self.channel is not None:
            if self._is_socket_limited or send_limit.remaining_seconds() is not None:
                self.set_transport_socket_timeout()
            try:
                return method()
            except _FOR_THE_CALLER:
                raise
            except Exception as error:
                method = _raise_once(error, method)
        told = how.pop("recoverable_error_callback", None)
        try:
            done = super().ensure(
                method,
                *retries,
                recoverable_error_callback=functools.partial(self._failed, told=told),
                **how,
            )
        except (MessageDeliveryFailure, MessagingTimeout) as failure:
            self._set_current_channel(None)
            self.connection.collect()
            if isinstance(failure, MessageDeliveryFailure) and send_limit.may_be_sent():
                raise send_limit.failure(failure) from failure
            raise
        self.outage.ended()
        return done

    def _failed(self, error: Exception, told: Callable[[Exception], None] | None = None) -> None:
        """Record a failure. Raises if the caller's time is up."""
        if told is not None:
            told(error)
        if not isinstance(error, amqp_exceptions.ChannelError):
            self.outage.failed()
        self.outage.check(error)

    def _is_closed_by_broker(self) -> bool:
        """Return whether nothing can be sent any more, which a write would not notice."""
        if self.channel is None or self.purpose == oslo_internals.PURPOSE_LISTEN:
            return False  # the next read notices
        if not self.channel.is_open or self.channel.connection is None:
            return True
        try:  # not by polling, which eventlet takes away
            own = self.channel.connection.sock
            (state,) = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        except OSError:  # closed meanwhile, by the heartbeat's thread
            return True
        return state != _ESTABLISHED

    def consume(self, timeout: float | None = None) -> None:
        """Consume available or coming messages; ``timeout`` is the library's poll interval."""
        self._keep_alive()
        self._keep_fanouts()
        source = self._idle_socket()
        if self._wakeup is None or source is None:
            super().consume(timeout)
            return
        woken = self._wakeup.wait(source, self._poll_timeout)
        if woken is polling.WakeReason.BY_WAKEUP:
            return
        is_message = woken is polling.WakeReason.BY_MESSAGE
        super().consume(polling.READ_SECONDS if is_message else polling.UPKEEP_SECONDS)

    def _keep_alive(self) -> None:
        """Send a heartbeat when it is time for one.

        The library does so only when a read times out. A connection that receives answers all the
        time, without acknowledging them, would send nothing, and the broker would close it.
        """
        now = time.monotonic()
        if now < self._heartbeat_due or self.channel is None or not self.connection.connected:
            return
        self._heartbeat_due = now + self._poll_timeout
        if self._heartbeat_supported_and_enabled():
            with contextlib.suppress(*self.connection.recoverable_connection_errors):
                self._heartbeat_check()  # a broken connection fails the next read

    def _keep_fanouts(self) -> None:
        """Periodically recreate what this process creates for others and has been deleted.

        They wait for it, since their accounts may not; this process would notice with its next
        connection only.
        """
        now = time.monotonic()
        if now < self._fanouts_due or self.channel is None or not self.connection.connected:
            return
        self._fanouts_due = now + FANOUTS_SECONDS
        broken = self.connection.recoverable_connection_errors  # fails the next read, too
        with self._connection_lock, contextlib.suppress(*broken, amqp_exceptions.ChannelError):
            for consumer in self._consumers:
                if isinstance(consumer, consumers.TopicConsumer):
                    consumer.make_fanouts(self)

    def _idle_socket(self) -> socket.socket | None:
        """Return the socket to wait on; None if there is something to do before waiting."""
        if self._new_tags or self.channel is None or not self.connection.connected:
            return None
        own = self.channel.connection
        if own is None or own.transport is None:  # closed meanwhile, which the next read notices
            return None
        return None if oslo_internals.has_buffered_data(own.transport) else own.transport.sock

    def stop_consuming(self) -> None:
        super().stop_consuming()
        if self._wakeup is not None:
            self._wakeup.wake()

    def close(self) -> None:
        super().close()
        if self._wakeup is not None:
            self._wakeup.close()

    def on_return(self, exception: Any, exchange: str, routing_key: str, message: Any) -> None:
        self._returned = MessageUndeliverable(exception, exchange, routing_key, message)

    def topic_send(
        self, exchange_name: str, topic: str, msg: Any, timeout: Any = None, retry: Any = None,
        transport_options: Any = None,
    ) -> None:  # fmt: skip
        """Send to a topic or one server of it, through its direct exchange if that exists."""
        name = topics.topic_of(topic)
        publish = self._publish
        if topics.find(name).has_direct_exchange:
            publish = functools.partial(
                self._publish_to_direct_exchange, topics.direct_exchange(exchange_name, name)
            )
        self._ensure_publishing(
            publish,
            consumers.topic_exchange(
                exchange_name, durable=self.durable, auto_delete=self.amqp_auto_delete
            ),
            msg,
            routing_key=topic,
            timeout=timeout,
            retry=retry,
            transport_options=transport_options,
        )

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Send a reply through the exchange that the caller has bound its queue to.

        Raises QueueRefused for one that no caller of this process has.
        """
        exchange = consumers.topic_exchange(topics.replies(self.control_exchange), passive=True)
        self._ensure_publishing(
            self._publish_reply,
            exchange,
            msg,
            routing_key=msg_id,
            transport_options=_MUST_BE_ROUTED,
        )

    def _publish_reply(self, *message: Any, **how: Any) -> None:
        """Publish a reply; a refusal costs no more than its channel, which amqp opens again.

        Else any agent could have its cell's conductor connect again for each of its calls.
        """
        try:
            self._publish_and_raises_on_missing_exchange(*message, **how)
        except amqp_exceptions.AccessRefused as refused:
            raise incoming.QueueRefused from refused

    def replies_exchange(self) -> Exchange:
        """Return the exchange of replies; servers create it if they may."""
        return consumers.topic_exchange(topics.replies(self.control_exchange), durable=True)

    def make_replies(self) -> None:
        """Create that exchange. Raises MessageUndeliverable if it is missing and may not be."""
        with self._connection_lock:
            self.ensure(lambda: self._is_made(self.replies_exchange()))

    def make_fanout(self, topic: str) -> None:
        """Create a topic's fanout for servers that may only read it, if it is a stream."""
        if self.rabbit_stream_fanout:
            consumer = consumers.shared_fanout_consumer(self, topic, _ignore)
            exchanges.make_stream(self.channel, consumer.exchange, consumer.queue_arguments)

    def _publish(self, exchange: Any, *message: Any, **how: Any) -> None:
        if not self._is_made(exchange):
            return
        self._returned = None
        send_limit.publishing()
        with self.outage.waiting():
            super()._publish(exchange, *message, **how)
        self.outage.ended()  # confirmed: what other connections found is over
        if self._returned is not None:
            raise self._returned

    def _publish_to_direct_exchange(
        self, name: str, exchange: Any, *message: Any, **how: Any
    ) -> None:
        """Publish to the named exchange if its servers have created it; else to ``exchange``."""
        if name in self._declared_exchanges or exchanges.is_exchange(self.channel, name):
            self._declared_exchanges.add(name)
            exchange = consumers.topic_exchange(name, passive=True)
        self._publish(exchange, *message, **how)

    def _is_made(self, exchange: Any) -> bool:
        """Create an exchange if missing.

        Returns False for a fanout that has never had a listener and that this account may not
        create. Raises MessageUndeliverable for anything else that it may not create.
        """
        if exchange.passive or exchange.name in self._declared_exchanges:
            return True
        try:
            exchanges.make_exchange(self.channel, exchange)
        except exchanges.NotDeclaredYet as error:
            if exchange.type == "fanout":
                return False
            raise MessageUndeliverable(error, exchange.name, None, None) from error
        self._declared_exchanges.add(exchange.name)
        return True

    def declare_consumer(self, consumer: Any) -> None:
        consumer.callback = incoming.guarded(consumer.callback)
        super().declare_consumer(consumer)

    def declare_direct_consumer(self, topic: str, callback: Callable[[Any], None]) -> None:
        replies = topics.replies(self.control_exchange)
        self.reply_consumer = consumers.ReplyConsumer(replies, topic, callback)
        self.declare_consumer(self.reply_consumer)

    def declare_topic_consumer(
        self,
        exchange_name: str,
        topic: str,
        callback: Callable[[Any], None] | None = None,
        queue_name: str | None = None,
    ) -> None:
        if topics.has_queue(topic):
            self.declare_consumer(consumers.topic_consumer(self, exchange_name, topic, callback))

    def declare_fanout_consumer(self, topic: str, callback: Callable[[Any], None]) -> None:
        if topics.find(topic).is_fanout_made_by_others and self.rabbit_stream_fanout:
            self.declare_consumer(consumers.shared_fanout_consumer(self, topic, callback))
        else:
            super().declare_fanout_consumer(topic, callback)


class Driver(VerifiesReplies):
    """The RabbitMQ driver with these connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        own = type("_Connection", (_Connection,), {"outage": self.outage})
        oslo_internals.set_connection_class(self, own)

    def send(
        self, target: Any, ctxt: Any, message: Any, wait_for_reply: Any = None, timeout: Any = None,
        **how: Any,
    ) -> Any:  # fmt: skip
        """Send a message; a call waits for broker and answer within one time limit."""
        if wait_for_reply:
            self.outage.refuse()
        with send_limit.limited(timeout if wait_for_reply else None):
            return super().send(target, ctxt, message, wait_for_reply, timeout, **how)

    def listen(self, target: Any, batch_size: Any, batch_timeout: Any) -> Any:
        """Listen; what comes twice is a matter of signatures, and of handlers that may run twice.

        The library would drop it with a traceback in the log, before a replay is counted.
        """
        listener = super().listen(target, batch_size, batch_timeout)
        oslo_internals.take_repeats(listener)
        threads = self.conf.executor_thread_pool_size
        oslo_internals.receive_as(listener, incoming.message_class(threads))
        return listener

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


def _raise_once(error: Exception, method: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that raises ``error`` on the first call, then calls ``method``."""
    errors = [error]

    def again() -> Any:
        if errors:
            raise errors.pop()
        return method()

    return again


def _ignore(_message: Any) -> None:
    """Handle a message that never comes."""
