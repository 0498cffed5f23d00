"""Whether a client has closed its connection, without reading from it or writing to it."""

import socket
from typing import Any

CLIENT_IS_GONE = "armillary.client_is_gone"
"""Entry of a WSGI environment: a function that tells whether the request's client has left."""

_ESTABLISHED = 1
"""The state of a TCP connection that neither side has closed (linux/tcp_states.h)."""


def is_closed_by_peer(sock: Any) -> bool:
    """Return whether the other side has closed a TCP connection, or this one has.

    The kernel's state of the connection says so under TLS as well, and whatever is still unread.
    """
    try:
        state: int = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    except OSError:
        return True
    return state != _ESTABLISHED
