"""The demo's real workloads as seen by the machine: processes with a mark in their command."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

SHELL = "/bin/sh"
SCRIPT = "while :; do date; sleep 1; done"
CGROUPS = Path("/sys/fs/cgroup")
STOP_SECONDS_MAX = 3.0
UNLIMITED = "max"
DATA_LIMIT = "Max data size"
UNLIMITED_DATA = "unlimited"


@dataclass(frozen=True, slots=True)
class Workload:
    """A running process and its limits."""

    pid: int
    command: str
    memory_limit: str
    cpu_limit: str


def command_line(mark: str) -> str:
    """Return the command line of a workload, in shell quoting."""
    return shlex.join([SHELL, "-c", SCRIPT, mark])


def find(mark: str) -> list[Workload]:
    """Return the running workloads, sorted by process id.

    A child of a workload looks just like it until it executes a command of the script.
    """
    found = {process.pid: process for process in _processes(mark)}
    return [_look_at(one) for one in found.values() if _parent_of(one) not in found]


def kill(mark: str) -> None:
    """Kill the remaining workloads; only those with this demo's own mark."""
    left = list(_processes(mark))
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=STOP_SECONDS_MAX)


def _processes(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue  # ended meanwhile, or owned by another user
        if words[-1:] == [mark] and words[:2] == [SHELL, "-c"]:
            yield process


def _parent_of(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.Error:
        return 0  # ended meanwhile


def _look_at(process: psutil.Process) -> Workload:
    return Workload(
        pid=process.pid,
        command=shlex.join(process.cmdline()),
        memory_limit=_memory_limit(process),
        cpu_limit=_cpu_limit(process),
    )


def _memory_limit(process: psutil.Process) -> str:
    text = _cgroup_value(process, "memory.max")
    if text not in ("", UNLIMITED):
        return f"{int(text) // 2**20} MiB (cgroup)"
    limit = _data_limit(process)
    return "none" if limit == UNLIMITED_DATA else f"{int(limit) // 2**20} MiB (rlimit)"


def _data_limit(process: psutil.Process) -> str:
    """Return RLIMIT_DATA; prlimit(2) tells it to the process's own user only."""
    lines = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(DATA_LIMIT))
    return line.removeprefix(DATA_LIMIT).split()[0]


def _cpu_limit(process: psutil.Process) -> str:
    quota, _, period = _cgroup_value(process, "cpu.max").partition(" ")
    if period and quota != UNLIMITED:
        return f"{int(quota) / int(period):g} CPU (cgroup)"
    return f"{len(process.cpu_affinity())} CPU (affinity)"


def _cgroup_value(process: psutil.Process, name: str) -> str:
    """Return a limit of the process's cgroup (version 2); empty if it has none."""
    try:
        lines = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
        path = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
        return (CGROUPS / path.lstrip("/") / name).read_text().strip()
    except (OSError, StopIteration):
        return ""
