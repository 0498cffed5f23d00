"""Connections to the supervisors of workloads, by the addresses that their directories name."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compute_agent.virt.process.shim.guard_address import guard_address, peer

ANSWER_SECONDS_MAX = 5.0
ANSWER = b"ok"


@contextmanager
def connected(directory: Path) -> Iterator[socket.socket | None]:
    """Give a connection to the supervisor if there is one of this agent's user, else None.

    Raises TimeoutError if it lives and does not answer.
    """
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_SECONDS_MAX)
        try:
            connection.connect(guard_address(directory))
        except ConnectionRefusedError:
            yield None
            return
        if peer(connection)[1] != os.geteuid():
            yield None
            return
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        yield connection


def greet(directory: Path) -> None:
    """Have the supervisor look at its directory. Raises OSError, TimeoutError."""
    with connected(directory) as connection:
        if connection is not None:
            connection.recv(len(ANSWER))
