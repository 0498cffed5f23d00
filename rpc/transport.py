"""Bus: a service's view of one broker, with the clients and servers made on it."""

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import oslo_messaging
import oslo_messaging.opts
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from armillary import exception
from armillary.idempotency import Records
from rpc import broker_logs, memory_transport, oslo_internals, polling, queue_types, rabbit
from rpc.broker import broker_tls, compression, plain_messages
from rpc.broker.queue_names import claim_process_name
from rpc.client import RpcClient
from rpc.interface import Interface
from rpc.replies import VerifiesReplies
from rpc.server import RpcServer
from rpc.signing.message_signer import MayAnswer, MessageSigner
from rpc.signing.place import TOP, Place
from rpc.signing.transport import SignedTransport
from rpc.signing.trust import Identity
from rpc.version_caps import VersionCap
from rpc.wire.serializer import ObjectSerializer

_WAIT_SECONDS_MAX = 60.0


_MALFORMED = (
    oslo_messaging.InvalidTransportURL, oslo_messaging.DriverLoadFailure,
    ValueError,  # of a malformed port
    ImportError,  # of another broker's library
    cfg.Error,  # of its options, which follow a question mark
)  # fmt: skip
"""Errors of oslo.messaging for a URL that it cannot use."""


class _Connection(oslo_internals.Connection):  # type: ignore[misc]
    """A connection that polls for messages only after a wake-up."""

    _found_nothing_at: int | None = None
    """Number of wake-ups when the queues were last seen empty."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._q_manager = None
        self._may_block = polling.may_block()

    def consume(self, timeout: float | None = None) -> None:
        """Consume available or coming messages; ``timeout`` is the library's poll interval."""
        if not self._may_block:
            super().consume(timeout)
            return
        waiter = self.connection.transport.waiter
        calls = waiter.calls
        if calls == self._found_nothing_at and not self._consume_loop_stopped:
            waiter.wait(calls, _WAIT_SECONDS_MAX)
            return
        try:
            super().consume(polling.UPKEEP_SECONDS)
        except oslo_internals.Timeout:
            self._found_nothing_at = calls
            raise

    def stop_consuming(self) -> None:
        super().stop_consuming()
        self.connection.transport.waiter.call()


class Driver(VerifiesReplies):
    """The RabbitMQ driver with these connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        oslo_internals.set_connection_class(self, _Connection)
        self._q_manager = None  # names are unique within the process


_ALLOWED_EXCEPTION_MODULES = ["armillary.exception"]
_URL_UNSET = "rabbit://"
_EMBEDDED_SCHEME = "kombu+memory://"


def configured_url(conf: cfg.ConfigOpts) -> str:
    """Return ``[DEFAULT] transport_url``. Raises ConfigurationError if it is not set."""
    register_options(conf)
    url: str = conf.transport_url
    if url == _URL_UNSET:
        raise exception.ConfigurationError(
            reason="[DEFAULT] transport_url is not set; expected "
            "rabbit://user:password@host:5672/vhost"
        )
    return url


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register oslo.messaging's options.

    oslo.messaging registers some of them on ``cfg.CONF`` only.
    """
    for group, options in oslo_messaging.opts.list_opts():
        conf.register_opts(options, group=group)
    conf.set_default("control_exchange", queue_types.CONTROL_EXCHANGE)


def _name_queues(conf: cfg.ConfigOpts, process_name: str, lock_directory: Path | None) -> None:
    if lock_directory is None or not conf[queue_types.GROUP].use_queue_manager:
        return
    conf.set_default(
        "processname", claim_process_name(process_name, lock_directory), group=queue_types.GROUP
    )


def transport_of(conf: cfg.ConfigOpts, transport_url: str) -> RPCTransport:
    """Return the transport of a URL, unconnected. Raises ConfigurationError for a malformed one."""
    try:
        return _transport(conf, transport_url)
    except _MALFORMED as error:
        raise exception.ConfigurationError(
            reason="transport_url is malformed; expected "
            "rabbit://user:password@host:port/vhost or kombu+memory:////name"
        ) from error


def _transport(conf: cfg.ConfigOpts, transport_url: str) -> RPCTransport:
    url = oslo_messaging.TransportURL.parse(conf, transport_url)
    if url.transport == rabbit.SCHEME:
        broker_tls.check(conf)
        plain_messages.install()
        return _transport_by(rabbit.Driver, conf, url)
    if transport_url.startswith(_EMBEDDED_SCHEME):
        url.transport = memory_transport.install()
        url.query = {**url.query, **queue_types.IN_MEMORY}
        return _transport_by(Driver, conf, url)
    return oslo_messaging.get_rpc_transport(
        conf, url=url, allowed_remote_exmods=_ALLOWED_EXCEPTION_MODULES
    )


def _transport_by(
    driver: Callable[..., Any], conf: cfg.ConfigOpts, url: oslo_messaging.TransportURL
) -> RPCTransport:
    """Return a transport with one of our drivers, which oslo.messaging cannot load by name."""
    made = driver(
        conf,
        url,
        default_exchange=conf.control_exchange,
        allowed_remote_exmods=list(_ALLOWED_EXCEPTION_MODULES),
    )
    return RPCTransport(made)


def _no_one(identity: Identity, server: str | None) -> bool:
    return False


class Bus:
    """One broker (``transport_url``) with everything needed to call and to serve on it.

    ``lock_directory`` is needed if ``[oslo_messaging_rabbit] use_queue_manager`` is on. With a
    ``message_signer``, messages are signed and verified; ``scope`` is what they are signed for: the
    top, the UUID of the broker's cell, or a zone.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        transport_url: str,
        *,
        executor: str = "threading",
        serializer: ObjectSerializer | None = None,
        process_name: str = "armillary",
        lock_directory: Path | None = None,
        message_signer: MessageSigner | None = None,
        scope: str = TOP,
    ) -> None:
        oslo_internals.check()
        broker_logs.quieten()
        register_options(conf)
        compression.accept_configured(conf)
        if not transport_url.startswith(_EMBEDDED_SCHEME) and lock_directory is not None:
            queue_types.set_defaults(conf)
        _name_queues(conf, process_name, lock_directory)
        self._conf = conf
        self._url = transport_url
        self._executor = executor
        self.serializer = serializer or ObjectSerializer()
        self.transport = transport_of(conf, transport_url)
        self.message_signer = message_signer
        self.place = Place(scope, conf.control_exchange)
        driver = oslo_internals.driver_of(self.transport)
        if message_signer is not None and not isinstance(driver, VerifiesReplies):
            raise exception.ConfigurationError(
                reason="[signing] needs a transport_url with rabbit:// or kombu+memory:////; "
                "replies over other brokers could not be verified"
            )

    @property
    def address(self) -> str:
        """The broker and its virtual host, without credentials."""
        url = oslo_messaging.TransportURL.parse(self._conf, self._url)
        hosts = ",".join(f"{host.hostname}:{host.port}" for host in url.hosts)
        return f"{hosts}/{url.virtual_host or ''}"

    def server(
        self,
        interface: type[Interface],
        server: str,
        endpoints: Iterable[Any],
        records: Records | None = None,
    ) -> RpcServer:
        """Return an unstarted server of an interface under one name.

        ``records`` are for methods that are idempotent by record. Raises TypeError unless the
        endpoints implement each declared method exactly once, with the declared parameters.
        """
        return RpcServer(
            self._conf,
            self.transport,
            interface=interface,
            server=server,
            endpoints=endpoints,
            executor=self._executor,
            serializer=self.serializer,
            message_signer=self.message_signer,
            place=self.place,
            records=records,
        )

    def sender(
        self, interface: type[Interface], *, version_cap: VersionCap | None, timeout_seconds: float
    ) -> RpcClient:
        """Return what sends the messages of an interface."""
        return RpcClient(self, interface, version_cap=version_cap, timeout_seconds=timeout_seconds)

    def client(
        self,
        topic: str,
        *,
        version: str,
        timeout_seconds: float | None = None,
        may_answer: MayAnswer = _no_one,
    ) -> oslo_messaging.RPCClient:
        """Return oslo.messaging's client of a topic; services use interfaces.

        ``may_answer`` tells whose signed replies count.
        """
        transport = self.transport
        if self.message_signer is not None:
            transport = SignedTransport(
                transport, self.message_signer, self.place, _ALLOWED_EXCEPTION_MODULES, may_answer
            )
        return oslo_messaging.get_rpc_client(
            transport,
            oslo_messaging.Target(topic=topic, version=version),
            timeout=timeout_seconds,
            serializer=self.serializer,
        )

    def with_scope(self, scope: str) -> Self:
        """Return this bus for messages that are signed for another scope, on the same broker."""
        made = copy.copy(self)
        made.place = Place(scope, self.place.exchange)
        return made

    def fail_fast(self, *, waiting_max: int) -> None:
        """Let calls fail while the broker is unreachable or stalled, instead of waiting for it.

        ``waiting_max``: how many threads may wait for a broker that is stalled.
        """
        driver = oslo_internals.driver_of(self.transport)
        if isinstance(driver, rabbit.Driver):
            driver.outage.fail_fast(waiting_max)

    @property
    def is_broker_away(self) -> bool:
        """Whether calls fail because the broker is unreachable or stalled; see ``fail_fast``."""
        driver = oslo_internals.driver_of(self.transport)
        return isinstance(driver, rabbit.Driver) and driver.outage.is_known()

    def close(self) -> None:
        """Close the connections. Stop the servers first."""
        self.transport.cleanup()


MakeBus = Callable[[str, str], Bus]
"""Makes a bus from a transport URL, for messages that are signed for a scope."""
