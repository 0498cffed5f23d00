"""Serving side of an interface: the endpoint that implements each declared method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from rpc.interface import Interface, Method

Handler = Callable[..., Any]
"""Takes the context and, by name, the arguments of a message."""


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
