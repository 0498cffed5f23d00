"""Wait for messages without looking up in between.

The library's driver looks up after a thousandth of a second, then after twice as long, and so on,
after each message anew: ten times for each that comes alone, at more than the message itself costs.
An idle process with a dozen consumers does nothing else. Here whoever waits is woken: by what there
is to read, or by ``Doorbell.ring`` when it is to stop.
"""

from __future__ import annotations

import contextlib
import enum
import select
import socket
import ssl
from typing import Any

from oslo_utils import eventletutils

GLANCE_SECONDS = 0.001
"""How long to consume when only the connection is to be looked after."""
READ_SECONDS = 0.1
"""How long to consume once there is something to read, which may be less than a message."""


class Woken(enum.Enum):
    """Why a wait has ended."""

    BY_MESSAGE = enum.auto()
    BY_BELL = enum.auto()
    IN_TIME = enum.auto()


class Doorbell:
    """Wakes the thread that waits for a socket. A ring before the wait ends it at once."""

    def __init__(self) -> None:
        self._door, self._button = socket.socketpair()
        self._door.setblocking(False)
        self._button.setblocking(False)

    def ring(self) -> None:
        """Wake who waits; thread-safe, and without effect once closed."""
        with contextlib.suppress(OSError):  # a full pair has been rung often enough
            self._button.send(b"!")

    def wait(self, source: socket.socket, timeout_seconds: float) -> Woken:
        """Wait until there is something to read from ``source``, or the bell was rung."""
        poll = select.poll()
        try:
            poll.register(source, select.POLLIN)
            poll.register(self._door, select.POLLIN)
        except ValueError:  # closed meanwhile: reading tells
            return Woken.BY_MESSAGE
        ready = {number for number, _event in poll.poll(timeout_seconds * 1000)}
        if self._door.fileno() in ready:
            with contextlib.suppress(OSError):
                self._door.recv(4096)
            return Woken.BY_BELL
        return Woken.BY_MESSAGE if ready else Woken.IN_TIME

    def close(self) -> None:
        self._door.close()
        self._button.close()


def may_wait() -> bool:
    """Whether this process waits in threads; green ones must leave their waits to the library."""
    return not eventletutils.is_monkey_patched("thread")


def unread(transport: Any) -> bool:
    """Whether the library's transport has read more than it has used."""
    source = transport.sock
    return bool(transport._read_buffer) or (
        isinstance(source, ssl.SSLSocket) and source.pending() > 0
    )
