"""Supervisors of workloads, found by their addresses when the workloads' directories are lost."""

import os
import signal
from pathlib import Path

from compute_agent.virt.process import guard_connection, process_freezing
from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.process.shim.guard_address import guard_prefix, peer
from compute_agent.virt.process.shim.json_files import HELD, write_json

PAUSED = "paused"
_SOCKETS = Path("/proc/net/unix")


def list_guarded(parent: Path) -> set[str]:
    """Return the instances below a directory that have a living supervisor on this machine."""
    prefix = f"@{guard_prefix(parent)}"
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
    with guard_connection.connected(guest.directory) as connection:
        if connection is None:
            return
        pid, _uid = peer(connection)
        is_stopped = process_freezing.is_stopped(pid)
        if is_stopped:  # its workload stays where it is
            os.kill(pid, signal.SIGCONT)
        if connection.recv(len(guard_connection.ANSWER)) != guard_connection.ANSWER:
            raise TimeoutError(
                f"the supervisor (pid {pid}) of {guest.uuid} cannot restore its directory"
            )
        if not is_stopped:
            (guest.directory / HELD).unlink(missing_ok=True)
            return
        if guest.held is None:  # it was stopped before it could take note of that
            write_json(guest.directory / HELD, PAUSED)
        os.kill(pid, signal.SIGSTOP)
