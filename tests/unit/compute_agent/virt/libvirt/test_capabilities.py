"""Capabilities of a host in libvirt's words."""

import json

import os_traits
import pytest

from compute_agent.virt.libvirt.capabilities import (
    _X86_TRAITS,
    Capabilities,
    HostCpu,
    cpu_info,
    host_cells,
    supported_instances,
    traits_of,
)
from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, PagePool

CPU = "<cpu id='{0}' socket_id='{1}' core_id='{0}' siblings='{2}'/>"
CELL = """
<cell id='{number}'><memory unit='KiB'>1048576</memory>
  <pages unit='KiB' size='4'>196608</pages><pages unit='KiB' size='2048'>{huge}</pages>
  <pages unit='KiB' size='1048576'>0</pages>
  <cpus num='2'>{cpus}</cpus></cell>
"""
TEXT = """
<capabilities>
  <host>
    <cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor>
      <topology sockets='2' dies='1' cores='1' threads='2'/>
      <maxphysaddr mode='emulate' bits='48'/><feature name='sse4.1'/></cpu>
    <migration_features>{live}</migration_features>
    <topology><cells>{cells}</cells></topology>
  </host>
  <guest><os_type>hvm</os_type><arch name='i686'>
    <machine canonical='pc-q35-7.2'>q35</machine><domain type='qemu'/></arch></guest>
  <guest><os_type>hvm</os_type><arch name='x86_64'>
    <machine canonical='pc-q35-7.2'>q35</machine><domain type='qemu'/>
    <domain type='kvm'/></arch></guest>
</capabilities>
"""


def a_cell(number: int, cpus: tuple[int, int], huge: int = 0) -> str:
    siblings = f"{cpus[0]}-{cpus[1]}"
    described = "".join(CPU.format(cpu, number, siblings) for cpu in cpus)
    return CELL.format(number=number, huge=huge, cpus=described)


def capabilities(*cells: str, live: str = "<live/>") -> Capabilities:
    return Capabilities.parse(TEXT.format(cells="".join(cells), live=live))


TWO_CELLS = (a_cell(0, (0, 1)), a_cell(1, (2, 3), huge=128))


def test_cells_have_cpus_cores_memory_and_pages() -> None:
    """Pages of a size of which there are none are left out; ordinary ones are what is left."""
    split = CpuSplit(frozenset({0, 1}), frozenset({2, 3}), is_configured=True)
    assert host_cells(capabilities(*TWO_CELLS).cells, split, 9999) == (
        HostCell(
            0, 0, cpus=frozenset({0, 1}), siblings=(frozenset({0, 1}),), memory_mb=1024,
            pages=(PagePool(4, 262144),),
        ),
        HostCell(
            1, 1, pcpus=frozenset({2, 3}), siblings=(frozenset({2, 3}),), memory_mb=1024,
            pages=(PagePool(4, 196608), PagePool(2048, 128)),
        ),
    )  # fmt: skip


def test_a_cell_without_cpus_for_guests_is_left_out() -> None:
    split = CpuSplit(frozenset({2}), frozenset(), is_configured=True)
    (cell,) = host_cells(capabilities(*TWO_CELLS).cells, split, 0)
    assert (cell.id, cell.siblings) == (1, ())


def test_the_only_cell_has_all_memory_of_the_host() -> None:
    """Kernels of guests whose memory grew count it short."""
    split = CpuSplit(frozenset({0, 1}), frozenset(), is_configured=False)
    (cell,) = host_cells(capabilities(TWO_CELLS[0]).cells, split, 4096)
    assert (cell.memory_mb, cell.pages) == (4096, (PagePool(4, 1048576),))


def test_the_cpu_is_described() -> None:
    """As JSON values, in the words that queries use."""
    assert json.loads(cpu_info(capabilities().cpu)) == {
        "arch": "x86_64",
        "vendor": "AMD",
        "model": "EPYC",
        "features": ["sse4.1"],
        "topology": {"sockets": 2, "dies": 1, "cores": 1, "threads": 2},
        "maxphysaddr": {"bits": 48},
    }


def test_guests_of_the_hosts_architecture_come_first() -> None:
    found = capabilities()
    assert [kind.arch for kind in found.kinds("qemu")] == ["x86_64", "i686"]
    assert [kind.arch for kind in found.kinds("kvm")] == ["x86_64"]
    assert found.kinds("kvm")[0].machines == {"q35", "pc-q35-7.2"}
    assert found.kinds("xen") == []


def test_images_call_all_guests_of_qemu_by_its_name() -> None:
    """Whether the processor or QEMU runs them; without KVM, none is KVM's."""
    kinds = capabilities().kinds("kvm")
    assert [name for _, name, _ in supported_instances(kinds, "kvm")] == ["kvm", "qemu"]
    assert supported_instances(kinds, "qemu") == [["x86_64", "qemu", "hvm"]]


@pytest.mark.parametrize(("live", "expected"), [("<live/>", True), ("", False)], ids=str)
def test_a_hypervisor_may_not_migrate(live: str, expected: bool) -> None:
    assert capabilities(live=live).migrates_live is expected


@pytest.mark.parametrize("text", ["", "<capabilities><host/></capabilities>"], ids=["no", "no-cpu"])
def test_what_describes_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="libvirt"):
        Capabilities.parse(text)


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
    assert traits_of(cpu) == traits | {"HW_ARCH_X86_64"}


def test_other_architectures_have_their_own_traits() -> None:
    cpu = HostCpu("aarch64", features=frozenset({"sve", "avx"}))
    assert traits_of(cpu) == {"HW_ARCH_AARCH64", "HW_CPU_AARCH64_SVE"}


def test_all_traits_are_standard() -> None:
    named = {f"HW_CPU_X86_{name}" for names in _X86_TRAITS.values() for name in names}
    assert named <= set(os_traits.get_traits())
