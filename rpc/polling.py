"""Blocking waits for messages, instead of polling.

oslo.messaging's driver polls after a millisecond, then after two, and so on, starting again with
each message: about ten times for every message that comes alone, at more cost than the message. An
idle process with a dozen consumers does little else. Here the waiting thread is woken by readable
data, or by a ``Wakeup`` when it has to stop.
"""

import contextlib
import enum
import select
import socket

from oslo_utils import eventletutils

UPKEEP_SECONDS = 0.001
"""Seconds to consume when there is only connection upkeep to do."""
READ_SECONDS = 0.1
"""Seconds to consume once data is readable, which may be less than a message."""


class WakeReason(enum.Enum):
    """Reason why a wait ended."""

    BY_MESSAGE = enum.auto()
    BY_WAKEUP = enum.auto()
    BY_TIMEOUT = enum.auto()


class Wakeup:
    """Wakes the thread that waits for a socket. A call before the wait ends it immediately."""

    def __init__(self) -> None:
        self._door, self._button = socket.socketpair()
        self._door.setblocking(False)
        self._button.setblocking(False)

    def wake(self) -> None:
        """Wake the waiting thread. Thread-safe; no effect once closed."""
        with contextlib.suppress(OSError):  # a full buffer already holds a wake-up
            self._button.send(b"!")

    def wait(self, source: socket.socket, timeout_seconds: float) -> WakeReason:
        """Wait until ``source`` is readable or the bell was rung."""
        poll = select.poll()
        try:
            poll.register(source, select.POLLIN)
            poll.register(self._door, select.POLLIN)
        except ValueError:  # closed meanwhile; reading it will fail
            return WakeReason.BY_MESSAGE
        ready = {number for number, _event in poll.poll(timeout_seconds * 1000)}
        if self._door.fileno() in ready:
            with contextlib.suppress(OSError):
                self._door.recv(4096)
            return WakeReason.BY_WAKEUP
        return WakeReason.BY_MESSAGE if ready else WakeReason.BY_TIMEOUT

    def close(self) -> None:
        self._door.close()
        self._button.close()


def may_block() -> bool:
    """Return whether threads may block here; green threads leave waiting to the library."""
    return not eventletutils.is_monkey_patched("thread")
