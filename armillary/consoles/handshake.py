"""First lines between the proxy and an agent's console port: a token, then the agent's answer.

After ``ok`` both sides send bytes of the terminal. Any other answer says why it was refused.
"""

import re
import socket
import time

GREETING = b"armillary-console/1 "
ACCEPTED = b"ok\n"
LINE_BYTES_MAX = 256
HANDSHAKE_SECONDS_MAX = 10.0
"""Timeout of a whole line, however slowly its bytes arrive."""
_TOKEN = re.compile(r"[0-9A-Za-z]{1,128}")


def send_token(connection: socket.socket, token: str) -> str | None:
    """Present a token; return None if it is accepted, else why not. Raises OSError.

    Only letters and digits are sent: an agent may name the address of another service with it.
    """
    if not _TOKEN.fullmatch(token):
        return "the agent's token is malformed"
    connection.settimeout(HANDSHAKE_SECONDS_MAX)
    connection.sendall(GREETING + token.encode("ascii") + b"\n")
    answer = read_line(connection)
    connection.settimeout(None)
    return None if answer == ACCEPTED else answer.decode("utf-8", "replace").strip()


def receive_token(connection: socket.socket) -> str | None:
    """Return the token that the other side presents, None for anything else. Raises OSError."""
    line = read_line(connection)
    connection.settimeout(None)
    if not line.startswith(GREETING) or not line.endswith(b"\n"):
        return None
    return line.removeprefix(GREETING).strip().decode("ascii", "replace")


def read_line(connection: socket.socket) -> bytes:
    """Read up to the end of a line and not beyond; a shorter answer was ended by the other side.

    Raises OSError, also if that takes too long.
    """
    line = b""
    ends_at = time.monotonic() + HANDSHAKE_SECONDS_MAX
    while not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX:
        left = ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the other side did not complete its line in time")
        connection.settimeout(left)
        piece = connection.recv(1)
        if not piece:
            break
        line += piece
    return line
