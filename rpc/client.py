"""RPC client base: call, cast, fanout, version caps, and errors a caller can handle."""

from __future__ import annotations

import time
from typing import Any

import oslo_messaging

from armillary import exception
from armillary.context import RequestContext
from rpc.timing import ClientTimes
from rpc.transport import Bus
from rpc.version_caps import VersionCap, as_cap, fits

_REMOTE_SUFFIX = "_Remote"
_TO_A_QUEUE = oslo_messaging.TransportOptions(at_least_once=True)
"""The broker reports when there is no queue, that is, no such server ever existed."""
_OUTCOMES: tuple[tuple[type[exception.ArmillaryError], str], ...] = (
    (exception.RpcTimeout, "timeout"),
    (exception.RpcUnavailable, "unavailable"),
    (exception.RpcFailed, "error"),
)


class RpcClient:
    """Base of every ``interface`` class, which sets ``TOPIC`` and ``VERSION``.

    A method requests the version that introduced it, so that newer clients can call older servers;
    the default is the first version of ``VERSION``'s major part.

    A call raises ``RpcTimeout`` if no answer came (outcome unknown), ``RpcUnavailable`` if nothing
    was sent, and the remote exception if its class is in ``armillary.exception``.
    """

    TOPIC: str
    VERSION: str = "1.0"

    def __init__(
        self,
        bus: Bus,
        *,
        version_cap: VersionCap | str | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        self._cap = as_cap(version_cap)
        self._version_first = f"{self.VERSION.partition('.')[0]}.0"
        self._timeout_seconds = timeout_seconds
        self._times = ClientTimes(self.TOPIC)
        self._client = bus.client(
            self.TOPIC,
            version=self.VERSION,
            timeout_seconds=timeout_seconds,
        )

    def can_send(self, version: str) -> bool:
        """Return whether every peer may be sent this version under ``[upgrade_levels]``."""
        return fits(self._cap.of(None), version)

    def can_send_to(self, server: str, version: str) -> bool:
        """Return whether this server may be sent this version."""
        return fits(self._cap.of(server), version)

    def ping(
        self, context: RequestContext, *, server: str | None = None, timeout_seconds: float = 5.0
    ) -> None:
        """Raise ``RpcTimeout`` if no server answers, ``RpcUnavailable`` if none ever existed."""
        prepared = self._client.prepare(
            namespace="baseapi",
            version="1.0",
            server=server,
            timeout=timeout_seconds,
            transport_options=_TO_A_QUEUE,
        )
        self._sent("ping", timeout_seconds, lambda: prepared.call(context, "ping", arg="ping"))

    def _call(
        self,
        context: RequestContext,
        method: str,
        *,
        version: str | None = None,
        server: str | None = None,
        timeout_seconds: float | None = None,
        **arguments: Any,
    ) -> Any:
        timeout = timeout_seconds or self._timeout_seconds
        prepared = self._client.prepare(
            version=self._checked(method, version, server),
            server=server,
            timeout=timeout,
            transport_options=_TO_A_QUEUE,
        )
        return self._sent(method, timeout, lambda: prepared.call(context, method, **arguments))

    def _cast(
        self,
        context: RequestContext,
        method: str,
        *,
        version: str | None = None,
        server: str | None = None,
        fanout: bool = False,
        **arguments: Any,
    ) -> None:
        prepared = self._client.prepare(
            version=self._checked(method, version, server), server=server, fanout=fanout or None
        )
        self._sent(method, 0, lambda: prepared.cast(context, method, **arguments))

    def _checked(self, method: str, version: str | None, server: str | None) -> str:
        """Return the requested version. Raises RpcVersionTooOld if it exceeds the cap."""
        asked = version or self._version_first
        cap = self._cap.of(server)
        if not fits(cap, asked):
            raise exception.RpcVersionTooOld(topic=self.TOPIC, method=method, needed=asked, cap=cap)
        return asked

    def _sent(self, method: str, timeout_seconds: float, send: Any) -> Any:
        started = time.perf_counter()
        outcome = "ok"
        try:
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
                method=method, topic=self.TOPIC, reason=f"{error.exc_type}: {error.value}"
            ) from error
        except oslo_messaging.MessagingTimeout as error:
            raise exception.RpcTimeout(
                method=method, topic=self.TOPIC, timeout_seconds=timeout_seconds
            ) from error
        except oslo_messaging.MessageUndeliverable as error:
            raise exception.RpcUnavailable(
                method=method, topic=self.TOPIC, reason="no server ever served it on this broker"
            ) from error
        except oslo_messaging.MessageDeliveryFailure as error:
            raise exception.RpcUnavailable(
                method=method, topic=self.TOPIC, reason=type(error).__name__
            ) from error
        except Exception as error:
            # oslo.messaging also rebuilds built-in exceptions: a remote bug must not look like one
            # of this process.
            raise exception.RpcFailed(
                method=method,
                topic=self.TOPIC,
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
