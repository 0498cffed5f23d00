"""CPU features by libvirt's names, as traits."""

from __future__ import annotations

import os_traits
import pytest

from compute_agent.virt.libvirt import cpu_traits
from compute_agent.virt.libvirt.capabilities import HostCpu


@pytest.mark.parametrize(
    ("feature", "traits"),
    [
        ("sse4.1", {"HW_CPU_X86_SSE41"}),
        ("pni", {"HW_CPU_X86_SSE3"}),
        ("sha-ni", {"HW_CPU_X86_SHA"}),
        ("avx512-vpopcntdq", {"HW_CPU_X86_AVX512VPOPCNTDQ"}),
        ("pclmuldq", {"HW_CPU_X86_CLMUL"}),
        ("vmx", {"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX"}),
        ("svm", {"HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM"}),
        ("tsc-deadline", set()),
    ],
)
def test_a_feature_of_an_x86(feature: str, traits: set[str]) -> None:
    """One that no request asks for has no trait."""
    cpu = HostCpu("x86_64", features=frozenset({feature}))
    assert cpu_traits.traits_of(cpu) == traits | {"HW_ARCH_X86_64"}


def test_other_architectures_have_their_own_traits() -> None:
    cpu = HostCpu("aarch64", features=frozenset({"sve", "avx"}))
    assert cpu_traits.traits_of(cpu) == {"HW_ARCH_AARCH64", "HW_CPU_AARCH64_SVE"}


def test_all_traits_are_standard() -> None:
    named = {f"HW_CPU_X86_{name}" for names in cpu_traits._X86_TRAITS.values() for name in names}
    assert named <= set(os_traits.get_traits())
