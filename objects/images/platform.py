"""Platform that an image was made for: architecture, hypervisor and mode of its guests.

Each has a name in Glance's documents, and another one in Nova's, which comes first.
"""

from collections.abc import Mapping

ARCHITECTURES = {
    "amd64": "x86_64",
    "x64": "x86_64",
    "x86-64": "x86_64",
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
    "x86": "i686",
    "arm64": "aarch64",
    "ppc64el": "ppc64le",
}
HYPERVISORS = {"xapi": "xen"}
MODES = {"pv": "xen", "hv": "hvm", "baremetal": "hvm"}


def architecture(properties: Mapping[str, str]) -> str:
    """Return the architecture, such as ``x86_64``; empty if the image names none."""
    return canonical(
        properties.get("hw_architecture") or properties.get("architecture", ""), ARCHITECTURES
    )


def hypervisor(properties: Mapping[str, str]) -> str:
    """Return the type of hypervisor, such as ``kvm``; empty if the image names none."""
    return canonical(
        properties.get("img_hv_type") or properties.get("hypervisor_type", ""), HYPERVISORS
    )


def mode(properties: Mapping[str, str]) -> str:
    """Return the mode of guests, such as ``hvm``; empty if the image names none."""
    return canonical(properties.get("hw_vm_mode") or properties.get("vm_mode", ""), MODES)


def canonical(name: str, aliases: Mapping[str, str]) -> str:
    """Return a name as hosts report it."""
    lowered = name.strip().lower()
    return aliases.get(lowered, lowered)
