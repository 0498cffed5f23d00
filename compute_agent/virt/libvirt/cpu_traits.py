"""Mapping of libvirt's CPU features to standard traits."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import os_traits

from compute_agent.virt.libvirt.capabilities import HostCpu

# Features whose trait has a different name; others are looked up by their own name.
_X86_TRAITS = {
    "pni": ["SSE3"],
    "aes": ["AESNI"],
    "pclmuldq": ["CLMUL"],
    "pclmulqdq": ["CLMUL"],
    "fma": ["FMA3"],
    "bmi1": ["BMI"],
    "sha-ni": ["SHA"],
    "rtm": ["TSX"],
    "gfni": ["AVX512GFNI"],
    "vaes": ["AVX512VAES"],
    "vpclmulqdq": ["AVX512VPCLMULQDQ"],
    "vmx": ["VMX", "INTEL_VMX"],
    "svm": ["SVM", "AMD_SVM"],
    "pcid": ["INTEL_PCID"],
    "spec-ctrl": ["INTEL_SPEC_CTRL"],
    "ssbd": ["INTEL_SSBD"],
    "md-clear": ["INTEL_MD_CLEAR"],
    "ibpb": ["AMD_IBPB"],
    "amd-ssbd": ["AMD_SSBD"],
    "amd-no-ssb": ["AMD_NO_SSB"],
    "virt-ssbd": ["AMD_VIRT_SSBD"],
}
_SEPARATORS = str.maketrans("", "", "-_.")


def traits_of(cpu: HostCpu) -> frozenset[str]:
    """Return the standard traits of a CPU: architecture, and features on x86 and aarch64."""
    wanted = {f"HW_ARCH_{cpu.arch.upper()}"}
    if cpu.arch in ("x86_64", "i686"):
        wanted.update(f"HW_CPU_X86_{name}" for name in _x86_names(cpu.features))
    elif cpu.arch == "aarch64":
        wanted.update(f"HW_CPU_AARCH64_{_plain(feature)}" for feature in cpu.features)
    return frozenset(wanted & _standard_traits())


def _x86_names(features: Iterable[str]) -> Iterable[str]:
    for feature in features:
        yield from _X86_TRAITS.get(feature) or [_plain(feature)]


def _plain(feature: str) -> str:
    return feature.translate(_SEPARATORS).upper()


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
