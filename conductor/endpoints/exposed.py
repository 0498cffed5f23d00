"""The mark of a method that may be called over RPC."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import rpc
from armillary import exception

F = TypeVar("F", bound=Callable[..., object])


def exposed(method: F) -> F:
    """Let callers of the topic call this; our own errors are answers, not failures."""
    answering = rpc.expected_exceptions(exception.ArmillaryError)(method)
    marked: F = rpc.expose(functools.update_wrapper(answering, method))
    return marked
