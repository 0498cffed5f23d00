"""Traits and resources derived from firmware, TPM, address and memory settings.

These come from flavors and images. An unknown value is logged and ignored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping

import os_traits
from oslo_utils import strutils

from objects.extra_specs import extra_specs
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
        {
            "1.2": os_traits.COMPUTE_SECURITY_TPM_1_2,
            "2.0": os_traits.COMPUTE_SECURITY_TPM_2_0,
        },
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
