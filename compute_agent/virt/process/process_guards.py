"""Supervisors of workloads, found by their addresses when the workloads' directories are lost."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from compute_agent.virt.process import process_freezing, process_shim
from compute_agent.virt.process.process_guest import HELD, ProcessGuest

ANSWER_SECONDS_MAX = 5.0
PAUSED = "paused"
_SOCKETS = Path("/proc/net/unix")


def list_guarded(parent: Path) -> set[str]:
    """Return the instances below a directory that have a living supervisor on this machine."""
    prefix = f"@{process_shim.guard_prefix(parent)}"
    found = set()
    for line in _SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines():
        name = line.rpartition(" ")[2]
        if name.startswith(prefix):
            found.add(name.removeprefix(prefix))
    return found


def restore(guest: ProcessGuest) -> None:
    """Have a workload's supervisor make its directory again, if that was lost or replaced.

    Without this the workload would seem to have ended, and could be started a second time. Raises
    TimeoutError if the supervisor lives and does not answer.
    """
    if guest.is_guarded:
        return
    for connection in _connected(guest):
        pid, _uid = process_shim.peer(connection)
        is_paused = process_freezing.is_stopped(pid)
        if is_paused:  # its workload stays where it is
            os.kill(pid, signal.SIGCONT)
        if connection.recv(len(b"ok")) != b"ok":
            raise TimeoutError(
                f"the supervisor (pid {pid}) of {guest.uuid} cannot make its directory again"
            )
        if is_paused:
            process_shim.write_json(guest.directory / HELD, PAUSED)
            os.kill(pid, signal.SIGSTOP)


def _connected(guest: ProcessGuest) -> Iterator[socket.socket]:
    """Yield a connection to the supervisor if there is one of this agent's user."""
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_SECONDS_MAX)
        try:
            connection.connect(process_shim.guard_address(guest.directory))
        except ConnectionRefusedError:
            return
        if process_shim.peer(connection)[1] != os.geteuid():
            return
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        yield connection
