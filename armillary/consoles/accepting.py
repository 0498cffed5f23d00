"""Accepting of connections that no client and no shortage of the machine ends."""

import errno
import logging
import socket
import ssl
import threading
import time
from typing import Any

LOG = logging.getLogger(__name__)

PAUSE_SECONDS = 0.1
_CLOSED = frozenset({errno.EBADF, errno.EINVAL})
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def accept(listener: socket.socket) -> tuple[socket.socket, Any]:
    """Return the next connection and its peer. Raises OSError once the listener is shut down.

    Other errors pass: a client that has left already, no file descriptor at the moment.
    """
    while True:
        try:
            return listener.accept()
        except ssl.SSLError:
            continue  # of that client
        except OSError as error:
            if error.errno in _CLOSED:
                raise
            if error.errno in _SHORTAGES:
                LOG.warning("A connection could not be accepted: %s", error)
                time.sleep(PAUSE_SECONDS)


class BoundedListener:
    """A listening socket whose ``accept`` is the one above, for so many connections at a time.

    It closes those beyond ``connections_max``. ``release`` is called when one has ended.
    """

    def __init__(self, listener: socket.socket, connections_max: int) -> None:
        self._listener = listener
        self._places = threading.BoundedSemaphore(connections_max)

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            connection, peer = accept(self._listener)
            if self._places.acquire(blocking=False):
                return connection, peer
            connection.close()

    def release(self) -> None:
        self._places.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)
