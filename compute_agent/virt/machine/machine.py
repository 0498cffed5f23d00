"""Resources and CPU features of this machine."""

import functools
import json
import os
import platform
import re
from pathlib import Path

import os_traits
import psutil
from oslo_utils import netutils

from compute_agent.virt.driver import HostResources

MIB = 1024**2
GIB = 1024**3

# CPU flags whose trait has a different name; others are looked up by their own name.
_X86_TRAITS = {
    "pni": "HW_CPU_X86_SSE3",
    "sse4_1": "HW_CPU_X86_SSE41",
    "sse4_2": "HW_CPU_X86_SSE42",
    "aes": "HW_CPU_X86_AESNI",
    "pclmulqdq": "HW_CPU_X86_CLMUL",
    "fma": "HW_CPU_X86_FMA3",
    "bmi1": "HW_CPU_X86_BMI",
    "sha_ni": "HW_CPU_X86_SHA",
    "rtm": "HW_CPU_X86_TSX",
    "gfni": "HW_CPU_X86_AVX512GFNI",
    "vaes": "HW_CPU_X86_AVX512VAES",
    "vpclmulqdq": "HW_CPU_X86_AVX512VPCLMULQDQ",
    "vmx": "HW_CPU_X86_VMX",
    "svm": "HW_CPU_X86_SVM",
}
_PACKAGE = re.compile(r"^physical id\s*:\s*(\d+)", re.MULTILINE)
_BY_VENDOR = {
    ("GenuineIntel", "vmx"): "HW_CPU_X86_INTEL_VMX",
    ("AuthenticAMD", "svm"): "HW_CPU_X86_AMD_SVM",
}


def own_address() -> str:
    """Return the IPv4 address of the default route's interface, or 127.0.0.1 without one."""
    return str(netutils.get_my_ipv4())


def resources(path: Path) -> HostResources:
    """Return the CPUs that this process may use, the memory, and the disk that holds ``path``."""
    disk = psutil.disk_usage(str(path))
    return HostResources(
        vcpus=len(os.sched_getaffinity(0)),
        memory_mb=psutil.virtual_memory().total // MIB,
        disk_gb=disk.total // GIB,
        disk_available_least=disk.free // GIB,
    )


def architecture() -> str:
    """Return the architecture as used in images and traits, such as x86_64."""
    return platform.machine()


def kernel_version() -> int:
    """Return the kernel version as major*10^6 + minor*10^3 + patch."""
    numbers = [int(text) for text in re.findall(r"\d+", platform.release())[:3]]
    major, minor, patch = [*numbers, 0, 0, 0][:3]
    return major * 1_000_000 + minor * 1_000 + patch


class Processor:
    """The first CPU in ``/proc/cpuinfo``; all CPUs are assumed to be alike.

    ``sockets``: how many packages there are.
    """

    def __init__(self, cpuinfo: str, arch: str) -> None:
        self.sockets = max(1, len(set(_PACKAGE.findall(cpuinfo))))
        first = cpuinfo.split("\n\n", 1)[0]
        pairs = (line.partition(":") for line in first.splitlines())
        self._values = {key.strip(): value.strip() for key, _, value in pairs}
        self._arch = arch

    @property
    def vendor(self) -> str:
        return self._values.get("vendor_id") or self._values.get("CPU implementer", "")

    @property
    def model(self) -> str:
        return self._values.get("model name") or self._values.get("CPU part", "")

    @property
    def flags(self) -> list[str]:
        return sorted((self._values.get("flags") or self._values.get("Features", "")).split())

    def traits(self) -> frozenset[str]:
        """Return the standard traits for the architecture and CPU flags."""
        wanted = {f"HW_ARCH_{self._arch.upper()}"}
        for flag in self.flags:
            wanted.update(self._traits_of(flag))
        return frozenset(wanted & _standard_traits())

    def _traits_of(self, flag: str) -> set[str]:
        plain = flag.upper().replace("_", "")
        if self._arch != "x86_64":
            return {f"HW_CPU_{self._arch.upper()}_{plain}"}
        own = {_X86_TRAITS.get(flag, f"HW_CPU_X86_{plain}")}
        by_vendor = _BY_VENDOR.get((self.vendor, flag))
        return own | {by_vendor} if by_vendor else own


def processor() -> Processor:
    """Return this machine's processor."""
    return Processor(Path("/proc/cpuinfo").read_text(encoding="utf-8"), architecture())


def has_hyperthreading() -> bool:
    """Return whether there are more logical CPUs than cores."""
    cores = psutil.cpu_count(logical=False)
    return bool(cores and (psutil.cpu_count() or 0) > cores)


def cpu_info(described: Processor) -> str:
    """Return the CPU description for capability queries, as JSON text."""
    threads = psutil.cpu_count() or 1
    cores = psutil.cpu_count(logical=False) or threads
    info = {
        "arch": architecture(),
        "vendor": described.vendor,
        "model": described.model,
        "features": described.flags,
        "topology": {
            "sockets": described.sockets,
            "cores": max(1, cores // described.sockets),
            "threads": max(1, threads // cores),
        },
    }
    return json.dumps(info, sort_keys=True)


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
