"""Repetition of an operation in whose middle libvirt's daemon ended, as when it is upgraded.

All operations are idempotent, and guests outlive the daemon: what was done before is found then.
"""

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from armillary import exception
from compute_agent.virt.libvirt.connection import Connection

LOG = logging.getLogger(__name__)

RESTART_SECONDS_MAX = 15.0
"""How long an operation waits for a daemon that has ended."""
_FAILURES = (
    exception.OperationFailed, exception.BuildFailed, exception.BuildNotUndone,
    exception.Unavailable,
)  # fmt: skip
TIMES_MAX = 3
"""How often an operation is begun in all."""


class HasDaemon(Protocol):
    """A driver of one daemon."""

    @property
    def daemon(self) -> Connection: ...


S = TypeVar("S", bound=HasDaemon)
P = ParamSpec("P")
T = TypeVar("T")


@contextlib.contextmanager
def outcome_known(daemon: Connection) -> Iterator[None]:
    """Raise Unavailable for an operation that failed without its daemon: it may have succeeded."""
    number = daemon.number
    try:
        yield
    except exception.OperationFailed as error:
        if daemon.is_lost(number):
            raise exception.Unavailable(reason=str(error.kwargs["reason"])) from error
        raise


def repeated(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Return a driver's method that is begun again when the daemon was lost in its middle.

    It raises its last error if the daemon does not come back, or is lost each time.
    """

    @functools.wraps(method)
    def run(self: S, /, *arguments: P.args, **named: P.kwargs) -> T:
        for _time in range(1, TIMES_MAX):
            number = self.daemon.number
            try:
                return method(self, *arguments, **named)
            except _FAILURES as error:
                if not self.daemon.is_lost(number) or not self.daemon.returns(RESTART_SECONDS_MAX):
                    raise
                LOG.warning("%s It is repeated, as libvirt's daemon is back", error)
        return method(self, *arguments, **named)

    return run
