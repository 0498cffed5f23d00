"""Endpoints that implement an interface: for a server, or called directly in the same process."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

from armillary.context import RequestContext
from armillary.idempotency import Records
from armillary.renewals import Renewals
from rpc.interface import Idempotent, Interface, Method
from rpc.repeats import Handler, answering_repeats
from rpc.wire.argument_types import argument_check
from rpc.wire.serializer import ObjectSerializer

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
        arguments: dict[str, object],
        *,
        server: str | None,
        timeout_seconds: float | None,
    ) -> Any:
        return self._handlers[method.name](context, **arguments)

    def ping(self, context: RequestContext, *, server: str | None, timeout_seconds: float) -> None:
        """Do nothing: this process is alive."""


def wire_handlers_of(
    interface: type[Interface],
    endpoints: Iterable[Any],
    serializer: ObjectSerializer,
    records: Records | None = None,
    renewals: Renewals | None = None,
) -> dict[str, Handler]:
    """Return the handler of each declared method, for arguments and answers in wire form.

    ``records`` keep the answers of methods that are idempotent by record; ``renewals`` as in
    :func:`answering_repeats`. Raises TypeError as :func:`handlers_of` does, and without the records
    that a method needs.
    """
    handlers = handlers_of(interface, endpoints)
    made = {
        name: _converting(interface, interface.METHODS[name], each, serializer)
        for name, each in handlers.items()
    }
    recorded = [name for name in made if interface.METHODS[name].idempotent is Idempotent.BY_RECORD]
    for name in recorded:
        if records is None:
            raise TypeError(f"{interface.__name__} needs records of the answers of {name}")
        made[name] = answering_repeats(
            interface.TOPIC, name, made[name], serializer.serialize_entity, records, renewals
        )
    return made


def handlers_of(interface: type[Interface], endpoints: Iterable[Any]) -> dict[str, Handler]:
    """Return the handler of each declared method.

    Raises TypeError unless each is implemented exactly once, with the declared parameters.
    """
    known = list(endpoints)
    return {name: _handler(interface, method, known) for name, method in interface.METHODS.items()}


def _handler(interface: type[Interface], method: Method, endpoints: Iterable[Any]) -> Handler:
    where = f"{interface.__name__}.{method.name}"
    found = [getattr(each, method.name) for each in endpoints if hasattr(each, method.name)]
    if len(found) != 1:
        raise TypeError(f"{where} must be implemented once; found: {len(found)}")
    handler: Handler = found[0]
    declared = sorted(method.sent_names(interface.ADDRESSED_BY))
    taken = sorted(list(inspect.signature(handler).parameters)[1:])
    if taken != declared:
        raise TypeError(
            f"{where} is declared with ({', '.join(declared)}) and implemented with "
            f"({', '.join(taken)})"
        )
    return handler


def _converting(
    interface: type[Interface], method: Method, handler: Handler, serializer: ObjectSerializer
) -> Handler:
    hints = method.sent_hints(interface.ADDRESSED_BY)
    check = argument_check(hints, frozenset(hints) - method.defaults.keys())

    def convert(context: RequestContext, /, **arguments: Any) -> Any:
        check(arguments)
        made = method.decode(arguments, partial(serializer.rebuild, context))
        return method.encode_answer(handler(context, **made))

    return convert
