"""A machine's sizes, version, and CPU features as standard traits."""

import ipaddress
import json
import os
import platform
from pathlib import Path

import os_traits
import psutil
import pytest

from compute_agent.virt.machine import machine
from tests.fixtures.checks import go_types

AMD = """processor	: 0
vendor_id	: AuthenticAMD
model name	: AMD EPYC
flags		: pni sse4_1 sse4_2 avx2 aes pclmulqdq fma bmi1 bmi2 sha_ni svm avx512_vnni lahf_lm

processor	: 1
vendor_id	: AuthenticAMD
flags		: avx512f
"""
INTEL = "vendor_id : GenuineIntel\nflags : vmx rtm avx\n"
ARM = "processor : 0\nFeatures : fp asimd aes sha2 sve unheard_of\nCPU implementer : 0x41\n"


@pytest.mark.parametrize(
    ("cpuinfo", "arch", "expected"),
    [
        (AMD, "x86_64", {
            "HW_ARCH_X86_64", "HW_CPU_X86_SSE3", "HW_CPU_X86_SSE41", "HW_CPU_X86_SSE42",
            "HW_CPU_X86_AVX2", "HW_CPU_X86_AESNI", "HW_CPU_X86_CLMUL", "HW_CPU_X86_FMA3",
            "HW_CPU_X86_BMI", "HW_CPU_X86_BMI2", "HW_CPU_X86_SHA", "HW_CPU_X86_SVM",
            "HW_CPU_X86_AMD_SVM", "HW_CPU_X86_AVX512VNNI",
        }),
        (INTEL, "x86_64", {
            "HW_ARCH_X86_64", "HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX", "HW_CPU_X86_TSX",
            "HW_CPU_X86_AVX",
        }),
        (ARM, "aarch64", {
            "HW_ARCH_AARCH64", "HW_CPU_AARCH64_FP", "HW_CPU_AARCH64_ASIMD", "HW_CPU_AARCH64_AES",
            "HW_CPU_AARCH64_SHA2", "HW_CPU_AARCH64_SVE",
        }),
        ("", "x86_64", {"HW_ARCH_X86_64"}),
    ],
    ids=["amd", "intel", "arm", "empty"],
)  # fmt: skip
def test_flags_become_traits(cpuinfo: str, arch: str, expected: set[str]) -> None:
    """Those that have one; flags that no request asks for are left out."""
    assert machine.Processor(cpuinfo, arch).traits() == expected


def test_this_machine_s_traits_are_standard() -> None:
    """Placement knows each of them."""
    traits = machine.processor().traits()
    assert traits
    assert traits <= set(os_traits.get_traits())


def test_sizes_are_this_machine_s(tmp_path: Path) -> None:
    """CPUs we may use, MiB of memory, GiB of the disk that workloads are on."""
    found = machine.resources(tmp_path)
    assert found.vcpus == len(os.sched_getaffinity(0))
    assert found.memory_mb == psutil.virtual_memory().total // 2**20
    assert found.disk_gb == psutil.disk_usage(str(tmp_path)).total // 2**30


@pytest.mark.parametrize(
    ("release", "expected"),
    [("6.1.0-18-amd64", 6_001_000), ("5.15.167.4-microsoft", 5_015_167), ("6.10", 6_010_000)],
)
def test_the_kernel_s_version_is_one_number(
    monkeypatch: pytest.MonkeyPatch, release: str, expected: int
) -> None:
    """Comparable, whatever a distribution adds."""
    monkeypatch.setattr(platform, "release", lambda: release)
    assert machine.kernel_version() == expected


def test_the_cpu_is_described_as_json() -> None:
    """Capability queries look into it."""
    info = json.loads(machine.cpu_info(machine.Processor(AMD, "x86_64")))
    assert (info["vendor"], info["model"]) == ("AuthenticAMD", "AMD EPYC")
    assert "avx2" in info["features"]
    assert go_types.misfits(info, go_types.CPU_INFO) == []
    assert info.keys() == go_types.CPU_INFO.keys()


@pytest.mark.parametrize(("packages", "sockets", "cores"), [("0010", 2, 4), ("00", 1, 8)])
def test_cores_are_those_of_a_socket(
    monkeypatch: pytest.MonkeyPatch, packages: str, sockets: int, cores: int
) -> None:
    """As libvirt counts them; of eight cores with two threads each."""
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16 if logical else 8)
    text = "\n\n".join(f"vendor_id\t: AMD\nphysical id\t: {package}" for package in packages)
    info = json.loads(machine.cpu_info(machine.Processor(text, "x86_64")))
    assert info["topology"] == {"sockets": sockets, "cores": cores, "threads": 2}


def test_the_own_address_is_one() -> None:
    """Whatever network there is."""
    assert ipaddress.ip_address(machine.own_address())
