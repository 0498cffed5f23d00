"""Vocabulary of extra specs and image properties: valid values, and their meaning.

The API rejects invalid values. If the scheduler meets them in requests stored earlier, it logs a
warning and ignores them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping

import os_resource_classes
import os_traits
from oslo_utils import strutils

from objects import page_sizes
from objects.extra_specs import extra_spec_operators, known_names

Rule = Callable[[str], str | None]
"""Returns why a value is invalid, as a sentence without a full stop; None if it is valid."""

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
_CPU_LIST = re.compile(r"\^?\d{1,5}(-\d{1,5})?(\s*,\s*\^?\d{1,5}(-\d{1,5})?)*")


# Parsing ------------------------------------------------------------------------------------------


def group_key(key: str) -> tuple[str, str, str] | None:
    """Return scope, suffix and name of ``resources_A:VCPU`` or ``trait1:HW_NIC``; else None."""
    match = _GROUP_KEY.fullmatch(key)
    return None if match is None else (match[1], match[2], match[3])


def is_like_a_group_key(key: str) -> bool:
    """Return whether a key looks like one of a request group with an invalid suffix."""
    return group_key(key) is None and _LIKE_A_GROUP_KEY.fullmatch(key) is not None


def amount(text: str) -> int | None:
    """Return the amount of a resource; None if the text is not an amount."""
    text = text.strip()
    if not _AMOUNT.fullmatch(text) or int(text) > AMOUNT_MAX:
        return None
    return int(text)


def is_resource_class(name: str) -> bool:
    """Return whether a name is a valid resource class."""
    return name in os_resource_classes.STANDARDS or _CUSTOM.fullmatch(name) is not None


def is_trait(name: str) -> bool:
    """Return whether a name is a valid trait."""
    return name in _standard_traits() or _CUSTOM.fullmatch(name) is not None


def subtrees(text: str) -> list[list[str]]:
    """Return the lists of suffixes in ``_A,_B; _C,_D``. Raises ValueError for a bad suffix."""
    found = []
    for part in text.split(";"):
        suffixes = [suffix.strip() for suffix in part.split(",")]
        if not all(_SUFFIX.fullmatch(suffix) for suffix in suffixes):
            raise ValueError(part)
        found.append(suffixes)
    return found


def labels(text: str) -> list[str]:
    """Return the labels in ``6GB,SIXTEEN``. Raises ValueError for a bad label."""
    found = [label.strip() for label in text.split(",")]
    if not all(_LABEL.fullmatch(label) for label in found):
        raise ValueError(text)
    return found


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())


# Validation ---------------------------------------------------------------------------------------


def mistakes(extra_specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each key that is invalid or has an invalid value, and the reason.

    Each key is checked by itself. Unknown keys that are near to no known one are valid, as they may
    be for a plugin.
    """
    for key, text in sorted(extra_specs.items()):
        rule = mistake(key, text)
        if rule is not None:
            yield key, rule


def mistake(key: str, text: str) -> str | None:
    """Return why one extra spec is invalid; None if no reason is known."""
    if meant := known_names.meant_extra_spec(key):
        return f"Unknown extra spec; did you mean {meant}?"
    if is_like_a_group_key(key):
        return "A group suffix may contain only letters, digits, _ and -, at most 64"
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
        return f"Unknown resource class {name[:80]}"
    if amount(text) is None:
        return f"It must be a whole number from 0 to {AMOUNT_MAX}"
    return None


def _trait(name: str, text: str) -> str | None:
    if not is_trait(name):
        return f"Unknown trait {name[:80]}"
    return _one_of(REQUIRED, FORBIDDEN)(text)


def _is_numbered(key: str, prefix: str) -> bool:
    return key.startswith(prefix) and key.removeprefix(prefix).isdecimal()


def _one_of(*words: str) -> Rule:
    return lambda text: None if text in words else f"It must be one of {', '.join(words)}"


def _truth(text: str) -> str | None:
    try:
        strutils.bool_from_string(text, strict=True)
    except ValueError:
        return "It must be true or false"
    return None


def _positive(text: str) -> str | None:
    return None if amount(text) else f"It must be a whole number from 1 to {AMOUNT_MAX}"


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
    if text.strip().lower() in ("small", "large", "any") or page_sizes.parse_kb(text):
        return None
    return f"It must be small, large, any, or {page_sizes.RULE}"


def _aliases(text: str) -> str | None:
    if all(_ALIAS.fullmatch(part.strip()) for part in text.split(",")):
        return None
    return "It must list aliases with counts from 1, such as gpu:1,nic:2"


_CPUS = "It must list CPUs, such as 0-3,^2,7"

_RULES: dict[str, Rule] = {
    GROUP_POLICY: _one_of(*GROUP_POLICIES),
    SAME_SUBTREE: _parsed(
        subtrees, "It must list suffixes of groups, such as _A,_B; separate several lists by ;"
    ),
    PERSISTENT_MEMORY: _parsed(
        labels, "It must list labels of letters, digits and _, such as 6GB,LARGE"
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
