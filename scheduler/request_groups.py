"""Request groups from what flavors and images say: ``resources:VCPU``, ``trait_NET1:HW_NIC``, ...

What stands between ``resources`` or ``trait`` and the colon is the suffix of a group, which one
provider serves; without one it is for the group whose classes any providers of a tree may serve. A
class, amount, trait or word that cannot be right is said in the log and skipped.
"""

from __future__ import annotations

import logging
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import os_resource_classes
import os_traits

from objects.flavor import Flavor
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

UNSUFFIXED = ""
REQUIRED = "required"
FORBIDDEN = "forbidden"

_KEY = re.compile(r"(resources|trait)([A-Za-z0-9_-]{0,64}):(.+)")
_LIKE_A_KEY = re.compile(r"(resources|trait)(_|\d)[^:]*:.+")
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_AMOUNT = re.compile(r"[0-9]{1,10}")
_AMOUNT_MAX = 2**31 - 1
_MB_IN_GB = 1024
_STANDARD_TRAITS = frozenset(os_traits.get_traits())


@dataclass
class Demands:
    """What is asked of the provider, or providers, of one group."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


def demands_of(spec: RequestSpec) -> dict[str, Demands]:
    """Return what flavor and image ask for, by suffix; there always is a group without."""
    found: dict[str, Demands] = defaultdict(Demands, {UNSUFFIXED: Demands()})
    sources = [(f"flavor {spec.flavor.name}", spec.flavor.extra_specs)]
    if spec.image is not None:
        sources.append((f"image {spec.image.id}", spec.image.properties))
    for source, texts in sources:
        for scope, suffix, name, text in _entries(texts, source):
            if scope == "trait":
                _add_trait(found[suffix], source, name, text)
            elif texts is spec.flavor.extra_specs:
                _add_resource(found[suffix], source, name, text)
    if spec.image is not None:
        found[UNSUFFIXED].required.update(_image_traits(spec.image.id, spec.image.properties))
    _add_sizes(found, spec.flavor)
    return {suffix: found[suffix] for suffix in sorted(found)}


def _add_sizes(found: Mapping[str, Demands], flavor: Flavor) -> None:
    """Add the flavor's sizes, but for classes that some group names; drop those of amount 0."""
    sizes = {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": flavor.disk_gb + math.ceil(flavor.swap_mb / _MB_IN_GB),
    }
    named = {name for demands in found.values() for name in demands.resources}
    unsuffixed = found[UNSUFFIXED]
    unsuffixed.resources = {
        **{name: amount for name, amount in sizes.items() if name not in named},
        **unsuffixed.resources,
    }
    for demands in found.values():
        demands.resources = {name: amount for name, amount in demands.resources.items() if amount}


def _entries(texts: Mapping[str, str], source: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield scope, suffix, name and value of the keys that are for placement."""
    for key, text in sorted(texts.items()):
        match = _KEY.fullmatch(key)
        if match is not None:
            yield match[1], match[2], match[3], text.strip()
        elif _LIKE_A_KEY.fullmatch(key):
            LOG.warning("%s: %s has no suffix that a request group can have", source, key[:80])


def _add_resource(demands: Demands, source: str, name: str, text: str) -> None:
    if not (name in os_resource_classes.STANDARDS or _CUSTOM.fullmatch(name)):
        LOG.warning("%s: resources:%s names no resource class", source, name)
    elif not (_AMOUNT.fullmatch(text) and int(text) <= _AMOUNT_MAX):
        LOG.warning("%s: resources:%s=%s is no amount", source, name, text)
    else:
        demands.resources[name] = int(text)


def _add_trait(demands: Demands, source: str, name: str, word: str) -> None:
    if not _is_trait(name):
        LOG.warning("%s: trait:%s names no trait", source, name)
    elif word == REQUIRED:
        demands.required.add(name)
    elif word == FORBIDDEN:
        demands.forbidden.add(name)
    else:
        LOG.warning("%s: trait:%s=%s is neither required nor forbidden", source, name, word)


def _image_traits(image_id: str, properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the traits of the image property ``traits_required``, a list with commas."""
    for text in properties.get("traits_required", "").split(","):
        trait = text.strip()
        if _is_trait(trait):
            yield trait
        elif trait:
            LOG.warning("image %s: traits_required names no trait %s", image_id, trait)


def _is_trait(name: str) -> bool:
    return bool(_CUSTOM.fullmatch(name)) or name in _STANDARD_TRAITS
