"""Measurements of one guest, for the person who looks for what is wrong with it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DiskDiagnostics:
    """Bytes and requests since the guest was started; None: not measured."""

    read_bytes: int | None = None
    read_requests: int | None = None
    write_bytes: int | None = None
    write_requests: int | None = None
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """A guest as its driver measures it now; None: not measured.

    ``cpu_seconds`` is the time that each CPU has worked for it; a driver that knows only their sum
    gives it to the first. Memory is in MiB; a maximum of None is that of the flavor.
    ``uptime_seconds`` are those since the guest was started.
    """

    driver: str
    power_state: str
    hypervisor: str | None = None
    hypervisor_os: str | None = None
    uptime_seconds: int | None = None
    cpu_seconds: list[float | None] = field(default_factory=list)
    memory_max_mb: int | None = None
    memory_used_mb: int | None = None
    disks: list[DiskDiagnostics] = field(default_factory=list)
