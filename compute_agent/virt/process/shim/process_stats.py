"""Processes as the kernel lists them, to shim and agent."""

import os
from pathlib import Path
from typing import NamedTuple


class ProcessId(NamedTuple):
    """A process: its pid, and its start time in clock ticks since boot."""

    pid: int
    start: int


class ProcessStat(NamedTuple):
    """State, parent and session of a process, and its start time in clock ticks since boot."""

    state: str
    parent: int
    session: int
    start: int

    @property
    def has_ended(self) -> bool:
        return self.state in "ZX"


def read_stat(pid: int) -> ProcessStat | None:
    """Return the state of a process, or None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    values = text.rpartition(")")[2].split()  # the process name may contain anything
    return ProcessStat(values[0], int(values[1]), int(values[3]), int(values[19]))


def all_stats() -> dict[int, ProcessStat]:
    """Return ``read_stat`` for every process."""
    stats = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - only the names are needed, thousands of them
        if name.isdigit() and (stat := read_stat(int(name))) is not None:
            stats[int(name)] = stat
    return stats


def descendants(root: int) -> list[int]:
    """Return the live descendants of ``root``."""
    stats = all_stats()
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    found: list[int] = []
    line = list(children.get(root, ()))
    while line:
        pid = line.pop()
        if not stats[pid].has_ended:
            found.append(pid)
        line.extend(children.get(pid, ()))
    return found


def process_id(pid: int) -> ProcessId:
    stat = read_stat(pid)
    return ProcessId(pid, stat.start if stat is not None else 0)


def boot_id() -> str:
    """Return the unique id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
