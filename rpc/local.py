"""Local twin of an interface: the same methods in the same process, without messages."""

from __future__ import annotations

from typing import Any, TypeVar

from armillary.context import RequestContext
from rpc.endpoints import handlers_of
from rpc.interface import Interface, Method

AnyInterface = TypeVar("AnyInterface", bound=Interface)


def local(interface: type[AnyInterface], *endpoints: Any) -> AnyInterface:
    """Return a client that calls the endpoints directly; timeouts do not apply.

    Raises TypeError as a server does if the endpoints are not those of the interface.
    """
    made = interface.__new__(interface)
    made._sender = _LocalSender(interface, endpoints)
    return made


class _LocalSender:
    """Calls the handlers in the thread of the caller; their errors are raised as they are."""

    def __init__(self, interface: type[Interface], endpoints: tuple[Any, ...]) -> None:
        self._handlers = handlers_of(interface, endpoints)

    def send(
        self,
        context: RequestContext,
        method: Method,
        arguments: dict[str, Any],
        *,
        server: str | None,
        timeout_seconds: float | None,
    ) -> Any:
        return self._handlers[method.name](context, **arguments)

    def ping(self, context: RequestContext, *, server: str | None, timeout_seconds: float) -> None:
        """Do nothing: this process is alive."""
