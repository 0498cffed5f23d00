"""Address of the shim of a workload: one at a time can have it."""

import errno
import hashlib
import os
import socket
import struct
from pathlib import Path


def guard_address(directory: Path) -> str:
    """Return the address of the shim of a workload: an abstract Unix socket.

    Its name ends with that of the directory, the instance's UUID.
    """
    return f"\0{guard_prefix(directory.parent)}{directory.name}"


def guard_prefix(parent: Path) -> str:
    """Return how the addresses of the workloads below a directory begin, without the null."""
    digest = hashlib.sha256(str(parent).encode("utf-8", "surrogateescape")).hexdigest()
    return f"armillary-guard/{digest[:16]}/"


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the pid and the user id at the other end of a Unix socket."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _gid = struct.unpack("3i", packed)
    return pid, uid


def is_of_own_user(address: str) -> bool:
    """Return whether the process that has an address runs as this process's user."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(address)
        except OSError as error:
            return error.errno != errno.ECONNREFUSED  # a full backlog is a living process's
        return peer(connection)[1] == os.geteuid()
