"""Decorator of methods that may be called over RPC."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import rpc
from armillary import exception

F = TypeVar("F", bound=Callable[..., object])


def exposed(method: F) -> F:
    """Expose a method over RPC; its ArmillaryErrors go to the caller and are not logged."""
    answering = rpc.expected_exceptions(exception.ArmillaryError)(method)
    marked: F = rpc.expose(functools.update_wrapper(answering, method))
    return marked
