"""Private names of oslo.messaging, kombu and amqp that our drivers use, and a check for them.

The libraries may rename what is here in any release. ``setup.cfg`` therefore bounds their versions,
and ``check`` stops a program at its start instead of in the middle of a message. No other module
imports a private name; the classes below may be derived from, with the members that are listed.
"""

import functools
import importlib
import ssl
from collections.abc import Iterator
from importlib import metadata
from typing import Any, NamedTuple

from oslo_messaging.rpc.server import RPCServer
from oslo_messaging.transport import RPCTransport

from armillary import exception


class Missing(NamedTuple):
    """A name that a library lacks."""

    library: str
    name: str
    why: str


class _Absent(Exception):
    """Stands for a missing class or exception until ``check`` reports it."""


_not_found: list[Missing] = []


def _find(library: str, path: str, why: str) -> Any:
    """Return ``module.name``; without it a stand-in, so that the program can start and say so."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        _not_found.append(Missing(library, path, why))
        return _Absent


_find_in_messaging = functools.partial(_find, "oslo.messaging")

Connection = _find_in_messaging(
    "oslo_messaging._drivers.impl_rabbit.Connection",
    "declares, publishes and consumes; the drivers change what it declares and how it waits",
)
Consumer = _find_in_messaging(
    "oslo_messaging._drivers.impl_rabbit.Consumer",
    "declares the queue of one topic, which the driver's accounts may not always do",
)
RabbitDriver = _find_in_messaging(
    "oslo_messaging._drivers.impl_rabbit.RabbitDriver",
    "sends, listens and replies; both drivers are this one with other connections",
)
ReplyWaiter = _find_in_messaging(
    "oslo_messaging._drivers.amqpdriver.ReplyWaiter",
    "hands the messages of the reply queue to the calls that wait; signed ones verify them first",
)
ConnectionPool = _find_in_messaging(
    "oslo_messaging._drivers.pool.ConnectionPool", "makes a driver's connections"
)
Listener = _find_in_messaging(
    "oslo_messaging._drivers.base.Listener", "base class of what a server receives from"
)
PollStyleListener = _find_in_messaging(
    "oslo_messaging._drivers.base.PollStyleListener",
    "returns the next message of a server to the thread that asks",
)
PollStyleListenerAdapter = _find_in_messaging(
    "oslo_messaging._drivers.base.PollStyleListenerAdapter", "holds the listener to poll"
)
IncomingMessage = _find_in_messaging(
    "oslo_messaging._drivers.base.RpcIncomingMessage", "is what the dispatcher of a server gets"
)
MessageListener = _find_in_messaging(
    "oslo_messaging._drivers.amqpdriver.RpcAMQPListener",
    "drops repeated messages, which is a matter of signatures and handlers",
)
AmqpIncomingMessage = _find_in_messaging(
    "oslo_messaging._drivers.amqpdriver.AMQPIncomingMessage",
    "sends the reply to a call, whose caller may have gone",
)
UNIQUE_ID = _find_in_messaging(
    "oslo_messaging._drivers.amqp.UNIQUE_ID", "is in each message, and unknown to dispatchers"
)
DestinationNotFound = _find_in_messaging(
    "oslo_messaging._drivers.amqp.AMQPDestinationNotFound",
    "raised for a missing queue or exchange, which the caller must learn",
)
Timeout = _find_in_messaging(
    "oslo_messaging._drivers.common.Timeout",
    "raised when no message came in time; not the public MessagingTimeout",
)
PURPOSE_LISTEN = _find_in_messaging(
    "oslo_messaging._drivers.common.PURPOSE_LISTEN",
    "tells connections that consume from those that send",
)
PURPOSE_SEND = _find_in_messaging(
    "oslo_messaging._drivers.common.PURPOSE_SEND", "takes a connection that sends"
)
serialize_failure = _find_in_messaging(
    "oslo_messaging._drivers.common.serialize_remote_exception",
    "writes an exception as other peers read it, inside a signed reply",
)
deserialize_failure = _find_in_messaging(
    "oslo_messaging._drivers.common.deserialize_remote_exception",
    "reads an exception from a signed reply",
)
BrokerSocket = _find("amqp", "amqp.transport.TCPTransport", "reads from the broker")
MemoryChannel = _find(
    "kombu", "kombu.transport.memory.Channel", "is the embedded broker's view of one connection"
)
MemoryTransport = _find(
    "kombu", "kombu.transport.memory.Transport", "connects to the embedded broker"
)


class Members(NamedTuple):
    """Methods and attributes of a class that we call, override or set."""

    library: str
    owner: Any
    names: str
    why: str


MEMBERS = (
    Members(
        "oslo.messaging",
        Connection,
        "_fetch_ssl_params connection channel purpose close",
        "connects to the broker with full verification, and closes what it waits on",
    ),
    Members(
        "oslo.messaging",
        Connection,
        "consume stop_consuming ensure ensure_connection _set_current_channel "
        "set_transport_socket_timeout interval_start interval_stepping interval_max "
        "_new_tags _consumers _poll_timeout _consume_loop_stopped "
        "_heartbeat_check _heartbeat_supported_and_enabled",
        "waits for messages without polling, and retries after failures only",
    ),
    Members(
        "oslo.messaging",
        Connection,
        "topic_send direct_send on_return _publish _publish_and_raises_on_missing_exchange "
        "_ensure_publishing _connection_lock _declared_exchanges",
        "publishes through exchanges that others may have created, and reports returned messages",
    ),
    Members(
        "oslo.messaging",
        Connection,
        "declare_consumer declare_direct_consumer declare_topic_consumer declare_fanout_consumer "
        "_q_manager",
        "declares the queues that an account may declare, under names of ours",
    ),
    Members(
        "oslo.messaging",
        Connection,
        "durable amqp_auto_delete rabbit_ha_queues enable_cancel_on_failover rabbit_quorum_queue "
        "rabbit_quorum_queue_config rabbit_stream_fanout rabbit_transient_queues_ttl",
        "holds the options that a consumer is made with",
    ),
    Members(
        "oslo.messaging",
        Consumer,
        "declare _declared_on queue queue_name queue_arguments exchange routing_key "
        "next_stream_offset _callback callback",
        "declares the queue of a topic once for each channel, and a stream at a time of ours",
    ),
    Members(
        "oslo.messaging",
        RabbitDriver,
        "_get_reply_queue_name _get_reply_q _reply_q _reply_q_conn _reply_q_lock _waiter "
        "_get_connection _allowed_remote_exmods _url conf _q_manager",
        "names and declares the queue for replies, and makes the waiter for it",
    ),
    Members("oslo.messaging", ReplyWaiter, "wait waiters", "waits for the reply to a call"),
    Members("oslo.messaging", RabbitDriver, "_connection_pool", "makes connections of our classes"),
    Members("oslo.messaging", ConnectionPool, "connection_cls", "makes connections of our classes"),
    Members("oslo.messaging", Listener, "start stop cleanup", "receives in a thread pool of ours"),
    Members(
        "oslo.messaging",
        PollStyleListener,
        "poll stop cleanup",
        "receives in a thread pool of ours",
    ),
    Members(
        "oslo.messaging",
        PollStyleListenerAdapter,
        "_poll_style_listener",
        "receives in a thread pool of ours",
    ),
    Members(
        "oslo.messaging",
        MessageListener,
        "msg_id_cache",
        "drops repeated messages, which is a matter of signatures and handlers",
    ),
    Members(
        "oslo.messaging",
        MessageListener,
        "message_cls",
        "makes messages, whose replies wait for their callers as long as we like",
    ),
    Members(
        "oslo.messaging",
        AmqpIncomingMessage,
        "_send_reply orig_msg_id reply_q listener",
        "sends the reply to a call, whose caller may have gone",
    ),
    Members(
        "oslo.messaging",
        RPCServer,
        "_create_listener _on_incoming _process_incoming conf",
        "handles a message in the thread that received it",
    ),
    Members(
        "oslo.messaging",
        IncomingMessage,
        "ctxt message msg_id reply client_timeout",
        "verifies a message and signs its reply, in place of the dispatcher",
    ),
    Members("oslo.messaging", RPCTransport, "_driver _send", "signs what is sent"),
    Members(
        "kombu",
        MemoryChannel,
        "basic_consume close _has_queue _new_queue _queue_for _get _put _put_fanout _lookup _size "
        "_delete _purge",
        "gives each virtual host a broker of its own, whose messages wake consumers",
    ),
    Members(
        "kombu",
        MemoryTransport,
        "drain_events cycle _deliver",
        "waits for a message without polling",
    ),
    Members("amqp", BrokerSocket, "_read_buffer", "holds data that no wait would report"),
)


class DriverTransport(RPCTransport):  # type: ignore[misc]
    """Another transport's driver with a ``send`` to override."""

    def __init__(self, transport: RPCTransport) -> None:
        super().__init__(transport._driver)

    @property
    def driver(self) -> Any:
        """The driver."""
        return self._driver

    def send(self, target: Any, ctxt: Any, message: Any, **how: Any) -> Any:
        """Send a message; return the reply if ``how`` asks to wait for it."""
        return super()._send(target, ctxt, message, **how)

    def _send(self, target: Any, ctxt: Any, message: Any, **how: Any) -> Any:
        return self.send(target, ctxt, message, **how)


class PolledServer(RPCServer):  # type: ignore[misc]
    """oslo.messaging's server with a listener of ours, whose threads handle the messages."""

    def listener_of(self, polled: Any) -> Any:
        """Return the listener that receives by polling ``polled``."""
        raise NotImplementedError

    def _create_listener(self) -> Any:
        return self.listener_of(super()._create_listener()._poll_style_listener)

    def _on_incoming(self, incoming: Any) -> None:
        self._process_incoming(incoming)


def set_connection_class(driver: Any, connection_class: type) -> None:
    """Make the driver's connections from this class."""
    driver._connection_pool.connection_cls = connection_class


class _NoDuplicates:
    """Takes the place of a listener's memory of its last messages, and finds none."""

    def check_duplicate_message(self, message: dict[str, Any]) -> Any:
        return message.pop(UNIQUE_ID, None)

    def add(self, unique_id: Any) -> None:
        """Remember nothing."""


def take_repeats(listener: Any) -> None:
    """Have a driver's listener pass on repeated messages, too."""
    listener._poll_style_listener.msg_id_cache = _NoDuplicates()


def receive_as(listener: Any, message_class: type) -> None:
    """Have a driver's listener make messages of this class."""
    listener._poll_style_listener.message_cls = message_class


def described(failure: Any) -> str:
    """Return a failure, as from ``sys.exc_info``, as peers read it; without its traceback."""
    return str(serialize_failure((*failure[:2], None)))


def driver_of(transport: RPCTransport) -> Any:
    """Return a transport's driver."""
    return transport._driver


def has_buffered_data(broker_socket: Any) -> bool:
    """Return whether amqp's transport has buffered data that was not consumed yet."""
    source = broker_socket.sock
    return bool(broker_socket._read_buffer) or (
        isinstance(source, ssl.SSLSocket) and source.pending() > 0
    )


def check() -> None:
    """Raise ConfigurationError if a library lacks a name that is listed here."""
    missing = next(iter((*_not_found, *_missing_members())), None)
    if missing is None:
        return
    raise exception.ConfigurationError(
        reason=f"{missing.library} {_installed(missing.library)} lacks {missing.name}, which "
        f"{missing.why}; install a version that Armillary was tested with"
        f"{_allowed(missing.library)}"
    )


def _missing_members() -> Iterator[Missing]:
    for library, owner, names, why in MEMBERS:
        for name in names.split() if owner is not _Absent else ():
            if not has_member(owner, name):
                yield Missing(library, f"{owner.__module__}.{owner.__qualname__}.{name}", why)


def has_member(owner: type, name: str) -> bool:
    """Return whether a class defines a name, or sets it in a constructor."""
    return hasattr(owner, name) or any(
        name in vars(each)["__init__"].__code__.co_names
        for each in owner.__mro__
        if hasattr(vars(each).get("__init__"), "__code__")
    )


def _installed(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "(of unknown version)"


def _allowed(library: str) -> str:
    """Return the required versions in parentheses, an empty string if they are unknown."""
    try:
        required = metadata.requires("armillary") or []
    except metadata.PackageNotFoundError:
        return ""
    versions = [each.removeprefix(library) for each in required if each.startswith(library)]
    return f" ({versions[0].strip()})" if versions else ""
