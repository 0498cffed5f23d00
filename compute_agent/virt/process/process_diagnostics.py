"""Measurements of a workload: the sums over its living processes."""

import dataclasses
import os
import time
from collections.abc import Iterable
from pathlib import Path

from compute_agent.virt.machine.machine import MIB
from compute_agent.virt.process.process_guest import ProcessGuest
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics

DRIVER = "process"
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True, slots=True)
class _Used:
    cpu_seconds: float
    memory_bytes: int
    started: float
    """Seconds since the machine started."""


def of(guest: ProcessGuest, power_state: str) -> Diagnostics:
    """Return the measurements of a workload that may be running."""
    pids = guest.living_processes()
    used = [each for each in map(_used, pids) if each is not None]
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return Diagnostics(
        driver=DRIVER,
        power_state=power_state,
        hypervisor=DRIVER,
        hypervisor_os="linux",
        uptime_seconds=int(now - min(each.started for each in used)) if used else None,
        cpu_seconds=[sum(each.cpu_seconds for each in used)] if used else [],
        memory_used_mb=sum(each.memory_bytes for each in used) // MIB,
        disks=[_disk(pids)] if used else [],
    )


def _used(pid: int) -> _Used | None:
    """Return what a process has used, or None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    values = text.rpartition(")")[2].split()  # the process name may contain anything
    ticks, started, pages = int(values[11]) + int(values[12]), int(values[19]), int(values[21])
    return _Used(ticks / _TICKS, pages * _PAGE, started / _TICKS)


def _disk(pids: Iterable[int]) -> DiskDiagnostics:
    """Return what processes have read and written, if the agent may see it of all."""
    found = [_io(pid) for pid in pids]
    if None in found:
        return DiskDiagnostics()
    sums = [
        sum(each[name] for each in found if each)
        for name in ("read_bytes", "syscr", "write_bytes", "syscw")
    ]
    return DiskDiagnostics(*sums)


def _io(pid: int) -> dict[str, int] | None:
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}
