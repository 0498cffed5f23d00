"""The words of extra specs and image properties: which texts can be right, and what they mean.

The API refuses what cannot be; the scheduler, which may meet it all the same in what was stored
earlier, says so in its log and goes on without it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping

import os_resource_classes
import os_traits
from oslo_utils import strutils

from objects import extra_spec_operators

Rule = Callable[[str], str | None]
"""Returns what is wrong with a value, as a sentence without its full stop; None when it may be."""

REQUIRED = "required"
FORBIDDEN = "forbidden"
GROUP_POLICY = "group_policy"
GROUP_POLICIES = ("none", "isolate")
SAME_SUBTREE = "same_subtree"
PERSISTENT_MEMORY = "hw:pmem"
PCI_ALIAS = "pci_passthrough:alias"
AMOUNT_MAX = 2**31 - 1

_OPERATOR_SCOPES = ("capabilities:", "aggregate_instance_extra_specs:")
_GROUP_KEY = re.compile(r"(resources|trait)([A-Za-z0-9_-]{0,64}):(.+)")
_LIKE_A_GROUP_KEY = re.compile(r"(resources|trait)(_|\d)[^:]*:.+")
_SUFFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_AMOUNT = re.compile(r"[0-9]{1,10}")
_LABEL = re.compile(r"[A-Za-z0-9_]{1,200}")
_ALIAS = re.compile(r"[^:,\s]+:[1-9][0-9]{0,3}")
_PAGE_SIZE = re.compile(r"[1-9][0-9]{0,8}\s*[kmg]?i?b?", re.IGNORECASE)
_CPU_LIST = re.compile(r"\^?\d{1,5}(-\d{1,5})?(\s*,\s*\^?\d{1,5}(-\d{1,5})?)*")


# What a text says ---------------------------------------------------------------------------------


def group_key(key: str) -> tuple[str, str, str] | None:
    """Return scope, suffix and name of ``resources_A:VCPU`` or ``trait1:HW_NIC``; else None."""
    match = _GROUP_KEY.fullmatch(key)
    return None if match is None else (match[1], match[2], match[3])


def is_like_a_group_key(key: str) -> bool:
    """Tell whether a key is one of a request group but for a suffix that cannot be."""
    return group_key(key) is None and _LIKE_A_GROUP_KEY.fullmatch(key) is not None


def amount(text: str) -> int | None:
    """Return the amount of a resource; None for what is none."""
    text = text.strip()
    if not _AMOUNT.fullmatch(text) or int(text) > AMOUNT_MAX:
        return None
    return int(text)


def is_resource_class(name: str) -> bool:
    """Tell whether there can be such a resource class."""
    return name in os_resource_classes.STANDARDS or _CUSTOM.fullmatch(name) is not None


def is_trait(name: str) -> bool:
    """Tell whether there can be such a trait."""
    return name in _standard_traits() or _CUSTOM.fullmatch(name) is not None


def subtrees(text: str) -> list[list[str]]:
    """Return the lists of suffixes in ``_A,_B; _C,_D``; raise ValueError for what is no suffix."""
    found = []
    for part in text.split(";"):
        suffixes = [suffix.strip() for suffix in part.split(",")]
        if not all(_SUFFIX.fullmatch(suffix) for suffix in suffixes):
            raise ValueError(part)
        found.append(suffixes)
    return found


def labels(text: str) -> list[str]:
    """Return the labels in ``6GB,SIXTEEN``; raise ValueError for what is none."""
    found = [label.strip() for label in text.split(",")]
    if not all(_LABEL.fullmatch(label) for label in found):
        raise ValueError(text)
    return found


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())


# What is wrong with it ----------------------------------------------------------------------------


def mistakes(extra_specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each key whose value cannot be right, or which cannot be itself, and what is wrong.

    Each is looked at alone. Keys that nobody knows are right: they may be for a plugin.
    """
    for key, text in sorted(extra_specs.items()):
        rule = mistake(key, text)
        if rule is not None:
            yield key, rule


def mistake(key: str, text: str) -> str | None:
    """Return what is wrong with one extra spec; None when nothing is known to be."""
    if is_like_a_group_key(key):
        return "A group's suffix has letters, digits, _ and - only, at most 64"
    if group := group_key(key):
        scope, _suffix, name = group
        return _resource(name, text) if scope == "resources" else _trait(name, text)
    if key.startswith(_OPERATOR_SCOPES):
        return extra_spec_operators.mistake(text)
    rule = _RULES.get(key) or next(
        (rule for prefix, rule in _NUMBERED.items() if _is_numbered(key, prefix)), None
    )
    return None if rule is None else rule(text)


def _resource(name: str, text: str) -> str | None:
    if not is_resource_class(name):
        return f"There is no resource class {name[:80]}"
    if amount(text) is None:
        return f"An amount is a whole number from 0 to {AMOUNT_MAX}"
    return None


def _trait(name: str, text: str) -> str | None:
    if not is_trait(name):
        return f"There is no trait {name[:80]}"
    return _one_of(REQUIRED, FORBIDDEN)(text)


def _is_numbered(key: str, prefix: str) -> bool:
    return key.startswith(prefix) and key.removeprefix(prefix).isdecimal()


def _one_of(*words: str) -> Rule:
    return lambda text: None if text in words else f"It is one of {', '.join(words)}"


def _truth(text: str) -> str | None:
    try:
        strutils.bool_from_string(text, strict=True)
    except ValueError:
        return "It is true or false"
    return None


def _positive(text: str) -> str | None:
    return None if amount(text) else f"It is a whole number from 1 to {AMOUNT_MAX}"


def _matching(pattern: re.Pattern[str], rule: str) -> Rule:
    return lambda text: None if pattern.fullmatch(text.strip()) else rule


def _parsed(parse: Callable[[str], object], rule: str) -> Rule:
    def check(text: str) -> str | None:
        try:
            parse(text)
        except ValueError:
            return rule
        return None

    return check


def _page_size(text: str) -> str | None:
    if text.strip().lower() in ("small", "large", "any") or _PAGE_SIZE.fullmatch(text.strip()):
        return None
    return "It is small, large, any, or a size such as 2048 (KiB), 2MB or 1GB"


def _aliases(text: str) -> str | None:
    if all(_ALIAS.fullmatch(part.strip()) for part in text.split(",")):
        return None
    return "It lists aliases with counts from 1, such as gpu:1,nic:2"


_CPUS = "It lists CPUs, such as 0-3,^2,7"

_RULES: dict[str, Rule] = {
    GROUP_POLICY: _one_of(*GROUP_POLICIES),
    SAME_SUBTREE: _parsed(
        subtrees, "It lists suffixes of groups, such as _A,_B; several lists are parted by ;"
    ),
    PERSISTENT_MEMORY: _parsed(
        labels, "It lists labels of letters, digits and _, such as 6GB,LARGE"
    ),
    PCI_ALIAS: _aliases,
    "os:secure_boot": _one_of("required", "optional", "disabled"),
    "hw:cpu_policy": _one_of("shared", "dedicated", "mixed"),
    "hw:cpu_thread_policy": _one_of("prefer", "isolate", "require"),
    "hw:emulator_threads_policy": _one_of("share", "isolate"),
    "hw:cpu_dedicated_mask": _matching(_CPU_LIST, _CPUS),
    "hw:numa_nodes": _positive,
    "hw:mem_page_size": _page_size,
    "hw:pci_numa_affinity_policy": _one_of("required", "preferred", "legacy", "socket"),
    "hw:tpm_version": _one_of("1.2", "2.0"),
    "hw:tpm_model": _one_of("tpm-tis", "tpm-crb"),
    "hw:tpm_secret_security": _one_of("user", "host", "deployment"),
    "hw:mem_encryption": _truth,
    "hw:mem_encryption_model": _one_of("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"),
    "hw:ephemeral_encryption": _truth,
    "hw:ephemeral_encryption_format": _one_of("plain", "luks", "luksv2"),
    "hw:maxphysaddr_mode": _one_of("passthrough", "emulate"),
    "hw:maxphysaddr_bits": _positive,
    "hw:virtio_packed_ring": _truth,
}

_NUMBERED: dict[str, Rule] = {
    "hw:numa_cpus.": _matching(_CPU_LIST, _CPUS),
    "hw:numa_mem.": _positive,
}
