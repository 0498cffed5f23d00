"""Accepting of connections that no client and no shortage of the machine ends."""

import errno
import logging
import socket
import ssl
import threading
import time
from collections import Counter
from typing import Any

from armillary.http.client_network import client_network

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

    It closes those beyond ``connections_max``, and beyond ``per_client_max`` of one address or IPv6
    network, which leaves room for others. ``release`` is called when one has ended.
    """

    def __init__(self, listener: socket.socket, connections_max: int, per_client_max: int) -> None:
        self._listener = listener
        self._connections_max = connections_max
        self._per_client_max = per_client_max
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            connection, peer = accept(self._listener)
            if self._enter(client_network(peer[0])):
                return connection, peer
            connection.close()

    def release(self, peer: Any) -> None:
        """Give back the place of a connection from this address."""
        client = client_network(peer[0])
        with self._lock:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def _enter(self, client: str) -> bool:
        with self._lock:
            is_full = self._open.total() >= self._connections_max
            if is_full or self._open[client] >= self._per_client_max:
                return False
            self._open[client] += 1
            return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)
