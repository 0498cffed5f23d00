"""Processes of workloads without a supervisor here, found by the marks in their environment.

They are left over when a supervisor was killed and the directory of its workload was lost, or when
the state directory was moved while workloads ran.
"""

import contextlib
import logging
import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from armillary.names.identifiers import is_uuid
from compute_agent.virt.process import process_guards, process_shim
from compute_agent.virt.process.shim import supervisor
from compute_agent.virt.process.shim.guard_address import guard_address
from compute_agent.virt.process.shim.process_stats import (
    ProcessId,
    ProcessStat,
    all_stats,
    read_stat,
)

LOG = logging.getLogger(__name__)

UUID_VARIABLE = "ARMILLARY_INSTANCE_UUID"
HOST_VARIABLE = "ARMILLARY_HOST"
GUARD_VARIABLE = "ARMILLARY_GUARD"
TICK_SECONDS = 0.02
_PROC = Path("/proc")
_SHIM_NAME = Path(process_shim.__file__).name


class _Marked(NamedTuple):
    process: ProcessId
    uuid: str
    host: str
    guard: str
    supervisor: ProcessId | None


class Strays:
    """Stray processes of one host and directory of workloads; those of other users are ignored."""

    def __init__(self, parent: Path, host: str) -> None:
        self._parent = parent
        self._host = host
        self._known: dict[str, list[ProcessId]] = {}

    def marks(self, uuid: str) -> dict[str, str]:
        """Return the variables that identify the processes of a workload."""
        return {UUID_VARIABLE: uuid, HOST_VARIABLE: self._host, GUARD_VARIABLE: self._guard(uuid)}

    def search(self, instance_uuids: Collection[str]) -> None:
        """Look for strays of this directory, and of these instances from any other one."""
        guarded = process_guards.list_guarded(self._parent)
        found: dict[str, list[ProcessId]] = {}
        for each in _list_marked(all_stats()):
            is_own = each.guard == self._guard(each.uuid)
            is_known = each.host == self._host and each.uuid in instance_uuids
            if (is_own or is_known) and each.uuid not in guarded:
                found.setdefault(each.uuid, []).append(each.process)
        for uuid, processes in found.items():
            LOG.warning("%s: runs without a supervisor; processes: %s",
                        uuid, ", ".join(str(process.pid) for process in processes))  # fmt: skip
        self._known = found

    def running(self) -> set[str]:
        """Return the workloads of the strays that were found and still run."""
        self._known = {
            uuid: living
            for uuid, processes in self._known.items()
            if (living := [process for process in processes if _is_alive(process)])
        }
        return set(self._known)

    def end(self, uuid: str) -> None:
        """Kill all strays of a workload and their supervisors. Raises TimeoutError."""
        deadline = time.monotonic() + supervisor.KILL_SECONDS_MAX
        while left := self._of(uuid):
            LOG.warning("%s: killing processes without a supervisor here: %s",
                        uuid, ", ".join(str(process.pid) for process in left))  # fmt: skip
            for process in left:
                _kill(process)
            if time.monotonic() >= deadline:
                raise TimeoutError(f"processes of instance {uuid} do not end")
            time.sleep(TICK_SECONDS)
        self._known.pop(uuid, None)

    def _of(self, uuid: str) -> list[ProcessId]:
        """Return the processes to kill, supervisors first, which would start others."""
        if uuid in process_guards.list_guarded(self._parent):
            return []
        found = [
            each
            for each in _list_marked(all_stats())
            if each.uuid == uuid and (each.host == self._host or each.guard == self._guard(uuid))
        ]
        above = [each.supervisor for each in found if each.supervisor is not None]
        return [*dict.fromkeys(above), *(each.process for each in found)]

    def _guard(self, uuid: str) -> str:
        return guard_address(self._parent / uuid).lstrip("\0")


def _list_marked(stats: Mapping[int, ProcessStat]) -> Iterator[_Marked]:
    """Yield the living processes that are marked, as far as this user may read them.

    A process below another workload's supervisor is left out: it has set the marks itself.
    """
    for pid, stat in stats.items():
        with contextlib.suppress(OSError):
            variables = _variables((_PROC / str(pid) / "environ").read_bytes())
            uuid, host = variables.get(UUID_VARIABLE, ""), variables.get(HOST_VARIABLE, "")
            if not is_uuid(uuid) or not host or stat.has_ended:
                continue
            supervisor, of = _supervisor(pid, stats)
            if of in (None, uuid):
                guard = variables.get(GUARD_VARIABLE, "")
                yield _Marked(ProcessId(pid, stat.start), uuid, host, guard, supervisor)


def _variables(environ: bytes) -> dict[str, str]:
    if UUID_VARIABLE.encode() not in environ:
        return {}
    pairs = (entry.partition("=") for entry in environ.decode("utf-8", "replace").split("\0"))
    return {name: value for name, _, value in pairs}


def _supervisor(pid: int, stats: Mapping[int, ProcessStat]) -> tuple[ProcessId | None, str | None]:
    """Return the supervisor above a process, and the instance that it is for.

    It is the topmost one, of the agent's user: a workload may start what looks like another one.
    """
    found: tuple[ProcessId | None, str | None] = None, None
    while (stat := stats.get(pid)) is not None and stat.parent > 1:
        pid = stat.parent
        uuid = _supervised_by(pid)
        if uuid is not None and pid in stats:
            found = ProcessId(pid, stats[pid].start), uuid
    return found


def _supervised_by(pid: int) -> str | None:
    """Return the instance that a process supervises; None if it is not our supervisor."""
    place = _PROC / str(pid)
    with contextlib.suppress(OSError):
        if place.stat().st_uid != os.geteuid():
            return None
        words = (place / "cmdline").read_bytes().decode("utf-8", "replace")
        program, _, rest = words.partition(f"/{_SHIM_NAME}\0")
        if rest and "\0-S\0" in program:
            return Path(rest.partition("\0")[0]).name
    return None


def _is_alive(process: ProcessId) -> bool:
    stat = read_stat(process.pid)
    return stat is not None and not stat.has_ended and stat.start == process.start


def _kill(process: ProcessId) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(process.pid)
        try:
            if _is_alive(process):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
