"""Processes of a workload, as its shim has written them down: which live, and signals to them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Iterable, Mapping
from typing import Any

from compute_agent.virt.process.shim.process_stats import (
    ProcessId,
    all_stats,
    boot_id,
    descendants,
    read_stat,
)

TICK_SECONDS = 0.02


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadProcesses:
    """Contents of ``processes.json``; after a reboot of the host, none of them lives."""

    boot_id: str
    shim: ProcessId
    workload: ProcessId

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> WorkloadProcesses:
        """Return what a file says."""
        return cls(found["boot_id"], ProcessId(**found["shim"]), ProcessId(**found["workload"]))

    def is_alive(self, process: ProcessId) -> bool:
        """Return whether one of them is still alive, and its pid was not reused."""
        if self.boot_id != boot_id():
            return False
        stat = read_stat(process.pid)
        return stat is not None and not stat.has_ended and stat.start == process.start

    @property
    def shim_pid(self) -> int | None:
        """The process that watches over the workload; None if it has ended."""
        return self.shim.pid if self.is_alive(self.shim) else None

    def living(self) -> list[int]:
        """Return all processes that live: those below the shim, and the workload's session."""
        if self.boot_id != boot_id():
            return []
        shim = self.shim_pid
        below = [] if shim is None else descendants(shim)
        return [*{*below, *_members(self.workload)}]

    def send(self, process: ProcessId, number: signal.Signals) -> None:
        """Send a signal to one of them, and to no other process."""
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(process.pid)
            try:
                if self.is_alive(process):
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)

    def kill_shim(self) -> None:
        """Kill an unresponsive shim, after the processes that only it knows."""
        if self.is_alive(self.shim):
            _kill(descendants(self.shim.pid))
            self.send(self.shim, signal.SIGKILL)

    def kill_session(self, seconds: float) -> list[int]:
        """Kill what a shim left that was itself killed; return the processes that do not end."""
        if self.boot_id != boot_id():
            return []
        deadline = time.monotonic() + seconds
        while left := _members(self.workload):
            _kill(left)
            if time.monotonic() >= deadline:
                break
            time.sleep(TICK_SECONDS)
        return left


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _members(leader: ProcessId) -> list[int]:
    """Return the live processes of a workload's session, and their descendants.

    A session id is not reused while one of its processes lives. So if the process with that pid
    started at another time, the session is gone.
    """
    stats = all_stats()
    own = stats.get(leader.pid)
    if own is not None and own.start != leader.start:
        return []
    members = {pid for pid, stat in stats.items() if stat.session == leader.pid}
    below = [pid for member in members for pid in descendants(member)]
    return [pid for pid in {*members, *below} if pid in stats and not stats[pid].has_ended]
