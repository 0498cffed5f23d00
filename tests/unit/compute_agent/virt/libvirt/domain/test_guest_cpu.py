"""CPUs of guests: what libvirt says about each model, and which guest gets which."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from armillary import exception
from compute_agent.virt.libvirt.capabilities import Capabilities, GuestKind, HostCpu
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.domain.guest_cpu import GuestCpus
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import host_conf

KIND = GuestKind("x86_64", "hvm", ("qemu",), frozenset({"q35"}))
FEATURES = {"qemu64": ["sse2"], "Nehalem": ["sse2", "sse4.2"], "Haswell": ["sse2", "avx2"]}
DOMAIN = """<domainCapabilities><cpu>
<mode name='host-model' supported='yes'><model>Haswell</model></mode>
<mode name='custom' supported='yes'><model usable='yes'>Nehalem</model>
<model usable='yes'>Haswell</model><model usable='no'>Icelake</model></mode>
</cpu></domainCapabilities>"""


class Library:
    """libvirt, as far as it is asked about CPUs."""

    VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES = 1

    class libvirtError(Exception):  # noqa: N801 - libvirt's name
        """An error."""

    def getDomainCapabilities(self, *_question: Any) -> str:  # noqa: N802 - libvirt's name
        return DOMAIN

    def baselineHypervisorCPU(self, *question: Any) -> str:  # noqa: N802 - libvirt's name
        (given,), _flags = question[4:]
        name = next(name for name in FEATURES if f">{name}<" in given)
        features = "".join(f"<feature policy='require' name='{one}'/>" for one in FEATURES[name])
        return f"<cpu><model>{name}</model>{features}</cpu>"


class LibraryOfArm(Library):
    """libvirt on aarch64, where it knows no model of the host."""

    def getDomainCapabilities(self, *_question: Any) -> str:  # noqa: N802 - libvirt's name
        return """<domainCapabilities><cpu><mode name='host-passthrough' supported='yes'/>
            <mode name='maximum' supported='yes'/><mode name='host-model' supported='no'/>
            </cpu></domainCapabilities>"""

    def baselineCPU(self, *_question: Any) -> str:  # noqa: N802 - libvirt's name
        return "<cpu><arch>aarch64</arch></cpu>"


def cpus(tmp_path: Any, kind: GuestKind = KIND, **options: Any) -> GuestCpus:
    conf = host_conf("host-1", tmp_path, **{"virt_type": "qemu", **options})
    library = Library() if kind is KIND else LibraryOfArm()
    connection = SimpleNamespace(library=library, get=lambda: library)
    capabilities = Capabilities(HostCpu(kind.arch, features=frozenset({"avx2"})), "", (), (), False)
    return GuestCpus(conf, cast("Connection", connection), capabilities, kind, None)


@pytest.mark.parametrize(
    ("options", "traits"),
    [
        ({}, {"SSE2"}),
        ({"cpu_mode": "host-model"}, {"SSE2", "AVX2"}),
        ({"cpu_mode": "custom", "cpu_models": ["Nehalem"]}, {"SSE2", "SSE42"}),
        ({"cpu_mode": "custom", "cpu_models": ["Nehalem", "Haswell"]}, {"SSE2", "SSE42", "AVX2"}),
        ({"cpu_mode": "host-model", "cpu_model_extra_flags": ["-avx2", "+f16c"]},
         {"SSE2", "F16C"}),
    ],
    ids=["default", "host-model", "custom", "several", "flags"],
)  # fmt: skip
def test_traits_are_those_that_guests_get(
    options: dict[str, Any], traits: set[str], tmp_path: Any
) -> None:
    """Not those of the host's CPU: by default, guests have few."""
    found = cpus(tmp_path, **options).traits
    assert found == {"HW_ARCH_X86_64", *(f"HW_CPU_X86_{name}" for name in traits)}


ARM = GuestKind("aarch64", "hvm", ("qemu", "kvm"), frozenset({"virt"}))


@pytest.mark.parametrize(("virt_type", "mode"), [("kvm", "host-passthrough"), ("qemu", "maximum")])
def test_a_guest_of_aarch64_has_a_cpu_that_runs(tmp_path: Any, virt_type: str, mode: str) -> None:
    """libvirt has no model for it, and QEMU's default knows 32 bits only."""
    assert [each.mode for each in cpus(tmp_path, ARM, virt_type=virt_type).all] == [mode]


def test_a_mode_that_the_host_does_not_have_is_refused_at_the_start(tmp_path: Any) -> None:
    """Not each guest that is built; what it has is said."""
    said = "cannot run aarch64 guests with host-model; it can with host-passthrough, maximum"
    with pytest.raises(exception.ConfigurationError, match=said):
        cpus(tmp_path, ARM, cpu_mode="host-model")


def test_a_guest_gets_the_first_model_with_what_it_requires(tmp_path: Any) -> None:
    found = cpus(tmp_path, cpu_mode="custom", cpu_models=["Nehalem", "Haswell"])

    def model(*traits: str) -> str | None:
        specs = {f"trait:HW_CPU_X86_{name}": "required" for name in traits}
        flavor = builders.a_flavor(extra_specs=specs)
        return found.for_guest(builders.an_instance(flavor=flavor)).model

    assert (model(), model("AVX2"), model("SSE2")) == ("Nehalem", "Haswell", "Nehalem")
    with pytest.raises(BadImage, match="none of"):
        model("AVX2", "SSE42")


@pytest.mark.parametrize("model", ["Icelake", "Unknown"])
def test_a_model_that_the_host_cannot_run_is_refused_at_the_start(
    model: str, tmp_path: Any
) -> None:
    with pytest.raises(exception.ConfigurationError, match=f"cannot run {model}.*Nehalem"):
        cpus(tmp_path, cpu_mode="custom", cpu_models=[model])
