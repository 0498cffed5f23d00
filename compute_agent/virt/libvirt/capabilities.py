"""Capabilities of a host as reported by libvirt: CPU, its traits, NUMA cells, supported guests."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Self
from xml.etree.ElementTree import Element

import os_traits

from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.machine import machine_numa
from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, PagePool, parse_cpus

_KIB_PER_MIB = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class HostCpu:
    """A CPU; features have libvirt's names, and include those of the model once expanded."""

    arch: str
    model: str = ""
    vendor: str = ""
    features: frozenset[str] = frozenset()
    topology: Mapping[str, int] = dataclasses.field(default_factory=dict, hash=False)
    address_bits: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GuestKind:
    """A supported architecture and mode (``hvm``), with domain types (``kvm``) and machines."""

    arch: str
    mode: str
    domain_types: tuple[str, ...]
    machines: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class CellFacts:
    """A NUMA cell, without usage."""

    id: int
    memory_mb: int
    pages: tuple[PagePool, ...]
    cpus: frozenset[int]
    socket: int | None
    cores: tuple[frozenset[int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities document of a connection."""

    cpu: HostCpu
    cpu_xml: str
    cells: tuple[CellFacts, ...]
    guests: tuple[GuestKind, ...]
    migrates_live: bool
    user_labels: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    """User and group of the hypervisor by domain type (``+64055:+113``), if libvirt sets them."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a capabilities document. Raises ValueError if it is invalid."""
        root = xml_text.parse(text)
        cpu = root.find("./host/cpu")
        if cpu is None:
            raise ValueError("libvirt's capabilities contain no CPU")
        return cls(
            cpu=parse_cpu(cpu),
            cpu_xml=xml_text.write(cpu),
            cells=tuple(_cell(cell) for cell in root.iterfind("./host/topology/cells/cell")),
            guests=tuple(_kind(guest) for guest in root.iterfind("./guest")),
            migrates_live=root.find("./host/migration_features/live") is not None,
            user_labels={
                label.get("type", ""): label.text or ""
                for model in root.iterfind("./host/secmodel")
                if model.findtext("model") == "dac"
                for label in model.iterfind("baselabel")
            },
        )

    @property
    def cpus(self) -> frozenset[int]:
        """All CPUs of the host, by number."""
        return frozenset[int]().union(*(cell.cpus for cell in self.cells))

    def kinds(self, domain_type: str) -> list[GuestKind]:
        """Return the guest kinds of a domain type (``kvm``), the host's architecture first."""
        found = [guest for guest in self.guests if domain_type in guest.domain_types]
        return sorted(found, key=lambda guest: guest.arch != self.cpu.arch)


def parse_cpu(cpu: Element, arch: str = "") -> HostCpu:
    """Return a CPU from capabilities or a domain, which may also list disabled features."""
    topology = cpu.find("topology")
    bits = cpu.find("maxphysaddr")
    return HostCpu(
        arch=cpu.findtext("arch", arch),
        model=cpu.findtext("model", ""),
        vendor=cpu.findtext("vendor", ""),
        features=frozenset(
            feature.attrib["name"]
            for feature in cpu.iterfind("feature")
            if feature.get("policy", "require") in ("require", "force")
        ),
        topology={} if topology is None else {k: int(v) for k, v in topology.items()},
        address_bits=None if bits is None or bits.get("bits") is None else int(bits.attrib["bits"]),
    )


def host_cells(
    cells: tuple[CellFacts, ...], split: CpuSplit, memory_mb: int
) -> tuple[HostCell, ...]:
    """Return the cells that have CPUs for guests, as ``machine_numa.cells`` does.

    ``memory_mb`` is the host's memory; a single cell may report too little.
    """
    found = [
        _host_cell(cell, split, max(cell.memory_mb, memory_mb if len(cells) == 1 else 0))
        for cell in cells
    ]
    return tuple(cell for cell in found if cell.cpus or cell.pcpus)


def _host_cell(cell: CellFacts, split: CpuSplit, memory_mb: int) -> HostCell:
    offered = cell.cpus & (split.shared | split.dedicated)
    small, huge = cell.pages[:1], cell.pages[1:]
    ordinary = [machine_numa.ordinary_pages(memory_mb, huge, pool.size_kb) for pool in small]
    return HostCell(
        id=cell.id,
        socket=cell.socket,
        cpus=cell.cpus & split.shared,
        pcpus=cell.cpus & (split.dedicated if split.is_configured else split.shared),
        siblings=tuple(core & offered for core in cell.cores if len(core & offered) > 1),
        memory_mb=memory_mb,
        pages=(*ordinary, *huge),
    )


def _cell(cell: Element) -> CellFacts:
    cpus = list(cell.iterfind("./cpus/cpu"))
    pools = [
        PagePool(int(pages.attrib["size"]), int(pages.text or 0))
        for pages in cell.iterfind("pages")
    ]
    pools.sort(key=lambda pool: pool.size_kb)
    sockets = {cpu.get("socket_id") for cpu in cpus} - {None}
    cores = {parse_cpus(cpu.attrib["siblings"]) for cpu in cpus if cpu.get("siblings")}
    return CellFacts(
        id=int(cell.attrib["id"]),
        memory_mb=int(cell.findtext("memory") or 0) // _KIB_PER_MIB,
        pages=(*pools[:1], *(pool for pool in pools[1:] if pool.total)),
        cpus=frozenset(int(cpu.attrib["id"]) for cpu in cpus),
        socket=min(int(socket or 0) for socket in sockets) if sockets else None,
        cores=tuple(sorted((core for core in cores if len(core) > 1), key=min)),
    )


def _kind(guest: Element) -> GuestKind:
    arch = guest.find("arch")
    if arch is None:
        raise ValueError("libvirt's capabilities contain a guest without an architecture")
    return GuestKind(
        arch=arch.attrib["name"],
        mode=guest.findtext("os_type", ""),
        domain_types=tuple(domain.attrib["type"] for domain in arch.iterfind("domain")),
        machines=frozenset(
            name
            for machine in arch.iter("machine")
            for name in (machine.text, machine.get("canonical"))
            if name
        ),
    )


def supported_instances(kinds: Iterable[GuestKind], virt_type: str) -> list[list[str]]:
    """Return what images may ask for; they call both kinds of QEMU's guests ``qemu``."""
    names = {"kvm": ("kvm", "qemu")}.get(virt_type, (virt_type,))
    return [[kind.arch, name, kind.mode] for kind in kinds for name in names]


def cpu_info(cpu: HostCpu) -> str:
    """Return the CPU description for capability queries, as JSON text."""
    info = {
        "arch": cpu.arch,
        "vendor": cpu.vendor,
        "model": cpu.model,
        "features": sorted(cpu.features),
        "topology": dict(cpu.topology),
    }
    if cpu.address_bits is not None:
        info["maxphysaddr"] = {"bits": cpu.address_bits}
    return json.dumps(info, sort_keys=True)


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
