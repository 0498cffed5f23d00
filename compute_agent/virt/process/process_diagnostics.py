"""Measurements of a workload: the sums over its living processes."""

import dataclasses
import time
from collections.abc import Iterable

import psutil

from compute_agent.virt.machine.machine import MIB
from compute_agent.virt.process.process_guest import ProcessGuest
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics

DRIVER = "process"


@dataclasses.dataclass(frozen=True, slots=True)
class _Used:
    cpu_seconds: float
    memory_bytes: int
    started_at: float


def of(guest: ProcessGuest, power_state: str) -> Diagnostics:
    """Return the measurements of a workload that may be running."""
    pids = guest.living_processes()
    used = [each for each in map(_used, pids) if each is not None]
    return Diagnostics(
        driver=DRIVER,
        power_state=power_state,
        hypervisor=DRIVER,
        hypervisor_os="linux",
        uptime_seconds=int(time.time() - min(each.started_at for each in used)) if used else None,
        cpu_seconds=[sum(each.cpu_seconds for each in used)] if used else [],
        memory_used_mb=sum(each.memory_bytes for each in used) // MIB,
        disks=[_disk(pids)] if used else [],
    )


def _used(pid: int) -> _Used | None:
    """Return what a process has used, or None if it has ended."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info()
            return _Used(times.user + times.system, memory.rss, process.create_time())
    except psutil.NoSuchProcess:
        return None


def _disk(pids: Iterable[int]) -> DiskDiagnostics:
    """Return what processes have read and written, if the agent may see it of all."""
    try:
        found = [psutil.Process(pid).io_counters() for pid in pids]
    except psutil.Error:
        return DiskDiagnostics()
    names = ("read_bytes", "read_count", "write_bytes", "write_count")
    return DiskDiagnostics(*(sum(getattr(each, name) for each in found) for name in names))
