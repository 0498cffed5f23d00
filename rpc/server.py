"""RPC server of an interface: its declared methods alone, a ping, a bounded thread pool."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import oslo_messaging
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.idempotency import Records
from armillary.logs.line_budget import BoundedLog
from armillary.renewals import Renewals
from rpc import deadlines
from rpc.authority import BASE_NAMESPACE
from rpc.endpoints import wire_handlers_of
from rpc.interface import Interface
from rpc.repeats import Handler
from rpc.signing import dispatch
from rpc.signing.message_signer import MessageSigner
from rpc.signing.place import Place
from rpc.thread_pool import ReceivingServer
from rpc.timing import ServerTimes
from rpc.wire.serializer import ObjectSerializer

LOG = logging.getLogger(__name__)
_FAILURES = BoundedLog(LOG)
"""A peer that finds what fails can repeat it as fast as it sends."""


class _BaseEndpoint:
    """Methods of every server; they ignore arguments that they do not know."""

    target = oslo_messaging.Target(namespace=BASE_NAMESPACE, version="1.1")

    def __init__(self, message_signer: MessageSigner | None) -> None:
        self._message_signer = message_signer

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def ping(self, context: Any, /, arg: str = "", **_unknown: Any) -> dict[str, str]:
        """Answer, to show that this server is alive and consuming."""
        return {"service": "armillary", "arg": arg}

    @oslo_messaging.expose  # type: ignore[untyped-decorator]
    def update_trust(
        self, context: Any, /, kind: str = "", document: str = "", **_unknown: Any
    ) -> None:
        """Replace the trust list by a newer one that a root key signed."""
        is_text = isinstance(kind, str) and isinstance(document, str)
        if self._message_signer is not None and is_text:
            self._message_signer.take_over(kind, document)


class _DeclaredMethods:
    """What the dispatcher finds of the endpoints: the declared methods.

    Their ArmillaryErrors go to the caller and are not logged.
    """

    def __init__(
        self,
        interface: type[Interface],
        endpoints: Iterable[Any],
        serializer: ObjectSerializer,
        records: Records | None,
    ) -> None:
        self.target = oslo_messaging.Target(version=interface.VERSION)
        handlers = wire_handlers_of(interface, endpoints, serializer, records, Renewals())
        for name, handler in handlers.items():
            setattr(self, name, _exposed(_without_inner_details(interface, name, handler)))


def _exposed(handler: Handler) -> Handler:
    answering = oslo_messaging.expected_exceptions(exception.ArmillaryError)(handler)
    exposed: Handler = oslo_messaging.expose(answering)
    return exposed


def _without_inner_details(interface: type[Interface], method: str, handler: Handler) -> Handler:
    """Keep what only this process may know of an error out of the answer, such as SQL.

    An answer contains an error with its causes and their tracebacks. An unexpected error is logged
    here, and the caller gets its class alone.
    """

    def answer(context: RequestContext, /, **arguments: Any) -> Any:
        try:
            return handler(context, **arguments)
        except exception.ArmillaryError as error:
            refusal = error
        except Exception as error:
            _FAILURES.write(
                logging.ERROR, "%s on %s failed unexpectedly", method, interface.TOPIC,
                error=error, kind=f"{interface.TOPIC}.{method}",
            )  # fmt: skip
            refusal = exception.RpcFailed(
                method=method, topic=interface.TOPIC, reason=type(error).__name__
            )
        refusal.__cause__ = refusal.__context__ = refusal.__traceback__ = None
        raise refusal

    return answer


class RpcServer:
    """Server of one interface under one name.

    Raises TypeError unless the endpoints implement each declared method exactly once.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        transport: oslo_messaging.RPCTransport,
        *,
        interface: type[Interface],
        server: str,
        endpoints: Iterable[Any],
        executor: str,
        serializer: ObjectSerializer,
        place: Place,
        message_signer: MessageSigner | None = None,
        records: Records | None = None,
    ) -> None:
        topic = interface.TOPIC
        self.topic = topic
        self.name = server
        self._server = oslo_messaging.get_rpc_server(
            transport,
            oslo_messaging.Target(topic=topic, server=server),
            [
                _DeclaredMethods(interface, endpoints, serializer, records),
                _BaseEndpoint(message_signer),
            ],
            serializer=serializer,
            access_policy=oslo_messaging.ExplicitRPCAccessPolicy,
            **_server_options(executor),
        )
        dispatcher = self._server.dispatcher
        timed = ServerTimes(topic).timed(deadlines.kept(dispatcher.dispatch))
        if message_signer is None:
            dispatcher.dispatch = dispatch.unverified(topic, timed)
        else:
            address = message_signer.address(place, topic, server)
            dispatcher.dispatch = dispatch.checked(message_signer, address, interface, timed)
        self._conf = conf

    def start(self) -> None:
        """Declare the queues and start to consume."""
        self._server.start()

    def stop(self) -> None:
        """Stop taking messages."""
        self._server.stop()

    def wait(self) -> None:
        """Wait until the received messages are done."""
        self._server.wait()


def _server_options(executor: str) -> dict[str, object]:
    """Return the arguments for oslo.messaging's server with this executor."""
    if executor == "threading":
        return {"server_cls": ReceivingServer}
    return {"executor": executor}
