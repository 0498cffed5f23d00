"""Measurements of a libvirt domain."""

from typing import Any

from compute_agent.virt.libvirt.domain import xml_text
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics

DRIVER = "libvirt"
_NANOSECONDS = 1e9
_KIB_PER_MIB = 1024


def of(library: Any, domain: Any, power_state: str) -> Diagnostics:
    """Return the measurements of a domain; those of CPUs and disks only while it runs."""
    _state, max_kib, used_kib, _count, cpu_time = domain.info()
    is_on = bool(domain.isActive())
    return Diagnostics(
        driver=DRIVER,
        power_state=power_state,
        hypervisor=xml_text.parse(domain.XMLDesc()).get("type"),
        hypervisor_os="linux",
        cpu_seconds=_cpus(library, domain, cpu_time) if is_on else [],
        memory_max_mb=max_kib // _KIB_PER_MIB,
        memory_used_mb=used_kib // _KIB_PER_MIB if is_on else 0,
        disks=_disks(library, domain) if is_on else [],
    )


def _cpus(library: Any, domain: Any, total: int) -> list[float | None]:
    try:
        vcpus, _maps = domain.vcpus()
    except library.libvirtError:  # some drivers measure the sum only
        return [total / _NANOSECONDS]
    return [vcpu[2] / _NANOSECONDS for vcpu in vcpus]


def _disks(library: Any, domain: Any) -> list[DiskDiagnostics]:
    targets = xml_text.parse(domain.XMLDesc()).iterfind("devices/disk/target")
    names = [target.get("dev") for target in targets]
    return [_disk(library, domain, str(name)) for name in names]


def _disk(library: Any, domain: Any, name: str) -> DiskDiagnostics:
    try:
        reads, read_bytes, writes, written, errors = domain.blockStats(name)
    except library.libvirtError:
        return DiskDiagnostics()
    known = [None if value < 0 else value for value in (read_bytes, reads, written, writes, errors)]
    return DiskDiagnostics(*known)
