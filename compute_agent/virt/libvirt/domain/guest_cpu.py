"""CPU of guests: the models of the configuration, and the features that guests get of each."""

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from oslo_config import cfg

from armillary import exception
from compute_agent.virt.libvirt.capabilities import (
    Capabilities,
    GuestKind,
    HostCpu,
    parse_cpu,
    traits_of,
)
from compute_agent.virt.libvirt.connection import Connection
from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.domain import xml_text
from objects.instance import Instance

LOG = logging.getLogger(__name__)

CUSTOM, HOST_MODEL, NONE = "custom", "host-model", "none"
HOST_PASSTHROUGH, MAXIMUM = "host-passthrough", "maximum"
_WITHOUT_MODELS = frozenset({"aarch64"})
"""Architectures for which libvirt knows no model of the host, and QEMU's default is of no use."""
_DEFAULT_MODEL = {"x86_64": "qemu64", "i686": "qemu32"}
"""Models that the hypervisor gives guests without a CPU in their definition."""
_CPU_TRAITS = "HW_CPU_"


@dataclasses.dataclass(frozen=True, slots=True)
class GuestCpu:
    """A CPU that guests can have.

    ``mode`` is that of ``[libvirt] cpu_mode``, ``model`` is set for ``custom``. ``flags`` are
    features that are added or, if false, removed. ``found`` is the CPU as guests see it.
    """

    mode: str
    model: str | None
    flags: tuple[tuple[str, bool], ...]
    found: HostCpu

    @property
    def traits(self) -> frozenset[str]:
        return traits_of(self.found)

    def write(self, domain: Element) -> Element | None:
        """Add the CPU to a domain; return its element, None for the hypervisor's default."""
        if self.mode == NONE:
            return None
        cpu = SubElement(domain, "cpu", {"mode": self.mode})
        if self.model is not None:
            cpu.set("match", "exact")
            SubElement(cpu, "model", {"fallback": "forbid"}).text = self.model
        for name, is_wanted in self.flags:
            policy = "require" if is_wanted else "disable"
            SubElement(cpu, "feature", {"policy": policy, "name": name})
        return cpu


class GuestCpus:
    """The CPUs of a host's guests, in the configuration's order."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        connection: Connection,
        capabilities: Capabilities,
        kind: GuestKind,
        machine: str | None,
    ) -> None:
        """Ask libvirt. Raises ConfigurationError, libvirtError, ValueError."""
        options = conf.libvirt
        self._library, self._opened = connection.library, connection.get()
        self._capabilities = capabilities
        self._question = (None, kind.arch, machine, str(options.virt_type))
        self._kind = kind
        mode, models = _mode(conf, kind.arch), list(options.cpu_models)
        flags = tuple(map(_flag, options.cpu_model_extra_flags))
        if (mode == CUSTOM) != bool(models):
            raise exception.ConfigurationError(
                reason="[libvirt] cpu_mode = custom needs cpu_models, and no other mode has them"
            )
        if flags and mode == NONE:
            raise exception.ConfigurationError(
                reason="[libvirt] cpu_model_extra_flags needs a cpu_mode that is not none"
            )
        self._refuse_unsupported(mode)
        if mode == CUSTOM:
            self._refuse_unusable(models)
        self.all: Sequence[GuestCpu] = [
            GuestCpu(mode, model, flags, self._expand(mode, model, flags))
            for model in models or [None]
        ]

    @property
    def traits(self) -> frozenset[str]:
        """The traits of any of them; a guest gets the first one with those that it requires."""
        return frozenset[str]().union(*(each.traits for each in self.all))

    def for_guest(self, instance: Instance) -> GuestCpu:
        """Return the first CPU with all that flavor and image require. Raises BadImage."""
        wanted = required_cpu_traits(instance) & self.traits
        for each in self.all:
            if wanted <= each.traits:
                return each
        names = ", ".join(str(each.model) for each in self.all)
        raise BadImage(f"none of [libvirt] cpu_models ({names}) has all of {', '.join(wanted)}")

    def _refuse_unsupported(self, mode: str) -> None:
        found = self._domain_capabilities()
        modes = [] if found is None else found.findall("./cpu/mode")
        if (mode, "no") in ((each.get("name"), each.get("supported")) for each in modes):
            others = (each.get("name", "") for each in modes if each.get("supported") == "yes")
            raise exception.ConfigurationError(
                reason=f"[libvirt] cpu_mode: this host cannot run {self._kind.arch} guests with "
                f"{mode}; it can with {', '.join(others) or NONE}"
            )

    def _domain_capabilities(self) -> Element | None:
        """Return what guests can have; None if libvirt does not report it."""
        try:
            return xml_text.parse(self._opened.getDomainCapabilities(*self._question, 0))
        except self._library.libvirtError as error:
            LOG.info("libvirt does not report the CPUs that guests can have: %s", error)
            return None

    def _refuse_unusable(self, models: Iterable[str]) -> None:
        found = self._domain_capabilities()
        if found is None:
            return
        known = {
            each.text: each.get("usable")
            for each in found.iterfind("./cpu/mode[@name='custom']/model")
        }
        for model in models:
            if known.get(model, "no") == "no":
                usable = sorted(
                    str(name) for name, is_usable in known.items() if is_usable == "yes"
                )
                raise exception.ConfigurationError(
                    reason=f"[libvirt] cpu_models: this host cannot run {model}; it can run "
                    f"{', '.join(usable) or 'none'}"
                )

    def _expand(self, mode: str, model: str | None, flags: tuple[tuple[str, bool], ...]) -> HostCpu:
        """Return the CPU as guests see it, with all features."""
        host = self._capabilities.cpu
        if mode == NONE:
            model = _DEFAULT_MODEL.get(self._kind.arch)
            text = None if model is None else self._expanded(_custom(model))
            return self._parsed(text) if text else HostCpu(arch=self._kind.arch)
        named = None if model is None else _custom(model)
        text = self._expanded(self._host_model() if named is None else named)
        if text is None and named is None:
            text = self._expanded_host()
        found = self._parsed(text) if text else HostCpu(arch=host.arch, model=model or "")
        features = set(found.features) | {name for name, is_wanted in flags if is_wanted}
        features -= {name for name, is_wanted in flags if not is_wanted}
        return dataclasses.replace(found, features=frozenset(features))

    def _parsed(self, text: str) -> HostCpu:
        host = self._capabilities.cpu
        found = parse_cpu(xml_text.parse(text), self._kind.arch)
        return HostCpu(
            arch=self._kind.arch,
            model=found.model or host.model,
            vendor=found.vendor or host.vendor,
            features=found.features,
            topology=host.topology,
            address_bits=host.address_bits,
        )

    def _host_model(self) -> Element | None:
        """Return the model that libvirt calls the host's, for this kind of guest."""
        if self._kind.arch != self._capabilities.cpu.arch:
            return None
        found = self._domain_capabilities()
        if found is None:
            return None
        mode = found.find("./cpu/mode[@name='host-model'][@supported='yes']")
        if mode is None or mode.find("model") is None:
            return None
        mode.tag, mode.attrib = "cpu", {}
        return mode

    def _expanded(self, cpu: Element | None) -> str | None:
        """Return a CPU with the features of its model; None if libvirt does not report them."""
        if cpu is None:
            return None
        flags = self._library.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        try:
            given = [xml_text.write(cpu)]
            return str(self._opened.baselineHypervisorCPU(*self._question, given, flags))
        except self._library.libvirtError as error:
            LOG.info("libvirt does not report the features of guests' CPU model: %s", error)
            return None

    def _expanded_host(self) -> str:
        """Return the host's CPU, with the features of its model if libvirt reports them."""
        flags = self._library.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        try:
            return str(self._opened.baselineCPU([self._capabilities.cpu_xml], flags))
        except self._library.libvirtError as error:
            LOG.info("libvirt does not report the features of the host's CPU model: %s", error)
            return self._capabilities.cpu_xml


def required_cpu_traits(instance: Instance) -> frozenset[str]:
    """Return the traits of a CPU that flavor and image require."""
    given: dict[str, Any] = dict(instance.flavor.extra_specs)
    if instance.image is not None:
        given |= instance.image.properties
    return frozenset(
        name.removeprefix("trait:")
        for name, value in given.items()
        if name.startswith(f"trait:{_CPU_TRAITS}") and value == "required"
    )


def _mode(conf: cfg.ConfigOpts, arch: str) -> str:
    in_hardware, emulated = HOST_MODEL, NONE
    if arch in _WITHOUT_MODELS:
        in_hardware, emulated = HOST_PASSTHROUGH, MAXIMUM
    default = in_hardware if conf.libvirt.virt_type == "kvm" else emulated
    return str(conf.libvirt.cpu_mode or default)


def _flag(text: str) -> tuple[str, bool]:
    """Return a flag and whether it is wanted: ``pcid``, ``+pcid``, ``-vmx``."""
    return text.lstrip("+-").lower(), not text.startswith("-")


def _custom(model: str) -> Element:
    cpu = Element("cpu", {"mode": CUSTOM, "match": "exact"})
    SubElement(cpu, "model", {"fallback": "forbid"}).text = model
    return cpu
