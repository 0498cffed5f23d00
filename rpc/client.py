"""Sending side of an interface: version caps, timeouts, and errors a caller can handle."""

import time
from functools import partial
from typing import Any, Protocol

import oslo_messaging

from armillary import exception
from armillary.context import RequestContext
from armillary.metrics import tracing
from rpc import authority, deadlines, send_limit
from rpc.authority import BASE_NAMESPACE
from rpc.interface import Interface, Method
from rpc.signing.message_signer import MayAnswer
from rpc.signing.place import Place
from rpc.timing import ClientTimes
from rpc.version_caps import VersionCap, fits
from rpc.wire.serializer import ObjectSerializer

_REMOTE_SUFFIX = "_Remote"
_TO_A_QUEUE = oslo_messaging.TransportOptions(at_least_once=True)
"""The broker reports that there is no queue, so this server never existed."""
_OUTCOMES: tuple[tuple[type[exception.ArmillaryError], str], ...] = (
    (exception.RpcTimeout, "timeout"),
    (exception.RpcUnavailable, "unavailable"),
    (exception.RpcFailed, "error"),
)


class Connection(Protocol):
    """A connection to a broker, for clients."""

    serializer: ObjectSerializer
    place: Place

    def client(
        self,
        topic: str,
        *,
        version: str,
        timeout_seconds: float | None = None,
        may_answer: MayAnswer,
    ) -> oslo_messaging.RPCClient: ...


class RpcClient:
    """Sends the messages of one interface over a bus, for an ``Interface``.

    Its errors are those of ``Interface``.
    """

    def __init__(
        self,
        bus: Connection,
        interface: type[Interface],
        *,
        version_cap: VersionCap | None,
        timeout_seconds: float,
    ) -> None:
        self._topic = interface.TOPIC
        self._cap = version_cap
        self._timeout_seconds = timeout_seconds
        self._times = ClientTimes(self._topic)
        self._serializer = bus.serializer
        self._client = bus.client(
            self._topic,
            version=interface.VERSION,
            timeout_seconds=timeout_seconds,
            may_answer=partial(authority.may_answer, interface, asked_at=bus.place.owner),
        )

    def ping(self, context: RequestContext, *, server: str | None, timeout_seconds: float) -> None:
        """Raise ``RpcTimeout`` if no server answers, ``RpcUnavailable`` if none ever existed."""
        prepared = self._client.prepare(
            namespace=BASE_NAMESPACE,
            version="1.0",
            server=server,
            timeout=timeout_seconds,
            transport_options=_TO_A_QUEUE,
        )
        self._sent(
            context, "ping", timeout_seconds, lambda: prepared.call(context, "ping", arg="ping")
        )

    def send(
        self,
        context: RequestContext,
        method: Method,
        arguments: dict[str, object],
        *,
        server: str | None,
        timeout_seconds: float | None,
    ) -> Any:
        """Send a message; return the answer to a call. Raises RpcVersionTooOld before sending."""
        name, kind = method.name, method.kind
        version = self._checked(name, method.needed_version(arguments), server)
        if method.argument_codecs:
            arguments = method.encode(arguments)
        if not kind.has_answer:
            prepared = self._client.prepare(
                version=version, server=server, fanout=kind.reaches_all or None
            )
            return self._sent(context, name, 0, lambda: prepared.cast(context, name, **arguments))
        timeout = deadlines.shortened(
            timeout_seconds
            or min(self._timeout_seconds, method.timeout_seconds or self._timeout_seconds)
        )
        asked = deadlines.answered_within(context, timeout)
        prepared = self._client.prepare(
            version=version, server=server, timeout=timeout, transport_options=_TO_A_QUEUE
        )
        answer = self._sent(context, name, timeout, lambda: prepared.call(asked, name, **arguments))
        try:
            return method.decode_answer(answer, partial(self._serializer.rebuild, context))
        except exception.Invalid as error:
            raise exception.RpcFailed(
                method=method.name, topic=self._topic, reason=f"wrong answer: {error}"
            ) from error

    def _checked(self, method: str, needed: str, server: str | None) -> str:
        """Return the needed version. Raises RpcVersionTooOld if it exceeds the cap."""
        cap = None if self._cap is None else self._cap.of(server)
        if not fits(cap, needed):
            raise exception.RpcVersionTooOld(
                topic=self._topic, method=method, needed=needed, cap=cap
            )
        return needed

    def _sent(self, context: RequestContext, method: str, timeout_seconds: float, send: Any) -> Any:
        started = time.perf_counter()
        outcome = "ok"
        try:
            with tracing.span(
                f"{self._topic} {method}", tracing.CLIENT, context.traceparent,
                rpc_service=self._topic, rpc_method=method,
            ):  # fmt: skip
                return self._raising_ours(method, timeout_seconds, send)
        except exception.ArmillaryError as error:
            outcome = _outcome_of(error)
            raise
        finally:
            self._times.ended(method, outcome, time.perf_counter() - started)

    def _raising_ours(self, method: str, timeout_seconds: float, send: Any) -> Any:
        try:
            return send()
        except exception.ArmillaryError as error:
            raise _as_raised(error) from None
        except oslo_messaging.RemoteError as error:
            raise exception.RpcFailed(
                method=method, topic=self._topic, reason=f"{error.exc_type}: {error.value}"
            ) from error
        except send_limit.NotConfirmed as error:
            raise exception.RpcNotConfirmed(method=method, topic=self._topic) from error
        except oslo_messaging.MessagingTimeout as error:
            raise exception.RpcTimeout(
                method=method, topic=self._topic, timeout_seconds=round(timeout_seconds, 1)
            ) from error
        except oslo_messaging.MessageUndeliverable as error:
            raise exception.RpcUnavailable(
                method=method, topic=self._topic, reason="no server ever served it on this broker"
            ) from error
        except oslo_messaging.MessageDeliveryFailure as error:
            raise exception.RpcUnavailable(
                method=method, topic=self._topic, reason=type(error).__name__
            ) from error
        except Exception as error:
            # oslo.messaging also rebuilds built-in exceptions: a remote bug must not look like one
            # of this process.
            raise exception.RpcFailed(
                method=method,
                topic=self._topic,
                reason=type(error).__name__.removesuffix(_REMOTE_SUFFIX),
            ) from error


def _outcome_of(error: exception.ArmillaryError) -> str:
    """Return the outcome label of a failed call."""
    for kind, word in _OUTCOMES:
        if isinstance(error, kind):
            return word
    return "refused"


def _as_raised(error: exception.ArmillaryError) -> exception.ArmillaryError:
    """Convert a remote error to its own class.

    oslo.messaging raises a subclass whose text contains the remote traceback, which callers should
    not show.
    """
    cls = type(error)
    if cls.__module__ != exception.__name__:
        cls = next(base for base in cls.__mro__ if base.__module__ == exception.__name__)
    return cls(error.message, **error.kwargs)
