"""Requirements derived from settings of flavors and images.

Traits and resources come from firmware, TPM, address and memory settings, of which an unknown value
is logged and ignored; request groups come from PCI devices, if placement tracks devices.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import os_traits
from oslo_utils import strutils

from armillary import exception
from objects.extra_specs import extra_specs
from objects.pci import pci_names
from objects.pci.pci import PciRequest
from objects.request_spec import RequestSpec
from scheduler.request_filters.requirements import demand, is_demanded

LOG = logging.getLogger(__name__)

# Extra spec, image property, and the root trait required by each value; None requires nothing.
_TRAITS_BY_WORD: tuple[tuple[str, str, Mapping[str, str | None]], ...] = (
    (
        "os:secure_boot",
        "os_secure_boot",
        {
            "required": os_traits.COMPUTE_SECURITY_UEFI_SECURE_BOOT,
            "optional": None,
            "disabled": None,
        },
    ),
    (
        "hw:tpm_version",
        "hw_tpm_version",
        {"1.2": os_traits.COMPUTE_SECURITY_TPM_1_2, "2.0": os_traits.COMPUTE_SECURITY_TPM_2_0},
    ),
    (
        "hw:tpm_model",
        "hw_tpm_model",
        {
            "tpm-tis": os_traits.COMPUTE_SECURITY_TPM_TIS,
            "tpm-crb": os_traits.COMPUTE_SECURITY_TPM_CRB,
        },
    ),
    (
        "hw:maxphysaddr_mode",
        "hw_maxphysaddr_mode",
        {
            "passthrough": os_traits.COMPUTE_ADDRESS_SPACE_PASSTHROUGH,
            "emulate": os_traits.COMPUTE_ADDRESS_SPACE_EMULATED,
        },
    ),
    (
        "hw:pci_numa_affinity_policy",
        "hw_pci_numa_affinity_policy",
        {
            "socket": os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY,
            "required": None,
            "preferred": None,
            "legacy": None,
        },
    ),
)

_ENCRYPTION = ("hw:mem_encryption", "hw_mem_encryption")
_ENCRYPTION_MODEL = ("hw:mem_encryption_model", "hw_mem_encryption_model")
_ENCRYPTION_MODEL_DEFAULT = "amd-sev"
_ENCRYPTION_TRAITS = {
    "amd-sev": os_traits.HW_CPU_X86_AMD_SEV,
    "amd-sev-es": os_traits.HW_CPU_X86_AMD_SEV_ES,
    "amd-sev-snp": os_traits.HW_CPU_X86_AMD_SEV_SNP,
    "intel-tdx": os_traits.HW_CPU_X86_INTEL_TDX,
}
_STATELESS_FIRMWARE = "hw_firmware_stateless"


def of_root(spec: RequestSpec) -> Iterator[str]:
    """Yield the root traits that the request's settings require."""
    for extra_spec, image_property, traits in _TRAITS_BY_WORD:
        word = demand(spec, extra_spec, image_property)
        if word is None:
            continue
        if word not in traits:
            _warn(spec, extra_spec, word)
        elif (trait := traits[word]) is not None:
            yield trait
    properties = {} if spec.image is None else spec.image.properties
    if strutils.bool_from_string(properties.get(_STATELESS_FIRMWARE)):
        yield os_traits.COMPUTE_SECURITY_STATELESS_FIRMWARE


def of_providers(spec: RequestSpec) -> tuple[dict[str, int], set[str]]:
    """Return the derived resources, and the traits of the providers that serve them."""
    resources, traits = _encryption(spec)
    return {**_persistent_memory(spec), **resources}, traits


def _encryption(spec: RequestSpec) -> tuple[dict[str, int], set[str]]:
    if not is_demanded(spec, *_ENCRYPTION):
        return {}, set()
    model = demand(spec, *_ENCRYPTION_MODEL) or _ENCRYPTION_MODEL_DEFAULT
    if model not in _ENCRYPTION_TRAITS:
        _warn(spec, _ENCRYPTION_MODEL[0], model)
        model = _ENCRYPTION_MODEL_DEFAULT
    return {"MEM_ENCRYPTION_CONTEXT": 1}, {_ENCRYPTION_TRAITS[model]}


def _persistent_memory(spec: RequestSpec) -> dict[str, int]:
    """Return one namespace per label; a repeated label counts again."""
    text = spec.flavor.extra_specs.get(extra_specs.PERSISTENT_MEMORY)
    if not text:
        return {}
    try:
        labels = extra_specs.labels(text)
    except ValueError:
        _warn(spec, extra_specs.PERSISTENT_MEMORY, text)
        return {}
    return dict(Counter(f"CUSTOM_PMEM_NAMESPACE_{label.upper()}" for label in labels))


def _warn(spec: RequestSpec, key: str, word: str) -> None:
    image = "" if spec.image is None else f" or image {spec.image.id}"
    LOG.warning("Flavor %s%s: unknown value %s = %s", spec.flavor.name, image, key, word[:80])


Group = tuple[str, str, set[str]]
"""Suffix, resource class, and required traits of the provider."""

_OWNERS = frozenset((os_traits.OWNER_NOVA,))


def device_groups(spec: RequestSpec) -> Iterator[Group]:
    """Yield a group for each requested device.

    Its class is the ``resource_class`` of the alias, or derived from vendor and product. Its suffix
    is the request's id and the number of the device. If the request filters require an owner trait
    of the root, the device providers need it, too. Raises ``RequestFilterFailed`` for an alias that
    does not map to a single class.
    """
    params = spec.request_level_params
    owners = _OWNERS.intersection(params.root_required if params else ())
    for place, plain in enumerate(spec.pci_requests):
        request = _device_request(plain)
        resource_class, traits = _asked(request)
        for number in range(request.count):
            yield f"{request.request_id or place}-{number}", resource_class, traits | owners


def _device_request(plain: Mapping[str, Any]) -> PciRequest:
    try:
        return PciRequest.from_plain(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise exception.RequestFilterFailed(
            reason=f"invalid request for PCI devices: {error}"
        ) from error


def _asked(request: PciRequest) -> tuple[str, set[str]]:
    found = {
        (_class_of(device), pci_names.traits(device.get("traits") or "")) for device in request.spec
    }
    if len(found) == 1:
        ((resource_class, traits),) = found
        if resource_class is not None:
            return resource_class, set(traits)
    what = "several kinds of devices" if len(found) > 1 else "no kind of device"
    raise exception.RequestFilterFailed(
        reason=f"the PCI alias {request.alias_name} names {what}, but a placement query needs "
        "exactly one kind; give all its entries in [pci] alias the same resource_class and "
        "traits, or the same vendor_id and product_id"
    )


def _class_of(device: Mapping[str, Any]) -> str | None:
    if name := device.get("resource_class"):
        return pci_names.resource_class(name)
    if not (device.get("vendor_id") and device.get("product_id")):
        return None
    return pci_names.resource_class_of(device["vendor_id"], device["product_id"])
