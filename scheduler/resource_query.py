"""Turn a request spec into the question for placement: amounts, traits, aggregates."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Mapping

import os_resource_classes
import os_traits

from objects.flavor import Flavor
from objects.request_spec import RequestSpec
from objects.resource_query import RequestGroup, ResourceQuery

LOG = logging.getLogger(__name__)

_SCOPES = ("resources", "trait")
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_AMOUNT = re.compile(r"[0-9]{1,10}")
_AMOUNT_MAX = 2**31 - 1
_MB_IN_GB = 1024
_UNLIMITED_HINTS = ("group", "same_host", "different_host")
_REQUIRED = "required"
_FORBIDDEN = "forbidden"


def build(spec: RequestSpec, *, limit: int) -> ResourceQuery:
    """Return the question for one instance of the request.

    ``limit`` is the number of candidates wanted, 0 for all; a request that a limit could starve is
    not limited. A resource class, amount or trait that cannot be right is said in the log and
    skipped.
    """
    required, forbidden = _traits(spec)
    group = RequestGroup.from_values(
        resources=_amounts(spec.flavor),
        required_traits=[[trait] for trait in required],
        forbidden_traits=forbidden,
    )
    _add_request_level(group, spec)
    is_unlimited = limit == 0 or _is_for_certain_hosts(spec)
    return ResourceQuery.from_values(groups=[group], limit=None if is_unlimited else limit)


def _amounts(flavor: Flavor) -> dict[str, int]:
    amounts = {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": flavor.disk_gb + math.ceil(flavor.swap_mb / _MB_IN_GB),
    }
    for name, text in _scoped(flavor.extra_specs, "resources", f"flavor {flavor.name}"):
        if not (name in os_resource_classes.STANDARDS or _CUSTOM.fullmatch(name)):
            LOG.warning("Flavor %s: resources:%s names no resource class", flavor.name, name)
        elif not (_AMOUNT.fullmatch(text) and int(text) <= _AMOUNT_MAX):
            LOG.warning("Flavor %s: resources:%s=%s is no amount", flavor.name, name, text)
        else:
            amounts[name] = int(text)
    return {name: amount for name, amount in amounts.items() if amount}


def _traits(spec: RequestSpec) -> tuple[list[str], list[str]]:
    found: dict[str, set[str]] = {_REQUIRED: set(), _FORBIDDEN: set()}
    flavor, image = spec.flavor, spec.image
    for source, texts in (
        (f"flavor {flavor.name}", flavor.extra_specs),
        (f"image {image.id}" if image else "", image.properties if image else {}),
    ):
        for trait, word in _scoped(texts, "trait", source):
            if not _is_trait(trait):
                LOG.warning("%s: trait:%s names no trait", source, trait)
            elif word not in found:
                LOG.warning(
                    "%s: trait:%s=%s is neither required nor forbidden", source, trait, word
                )
            else:
                found[word].add(trait)
    if image:
        found[_REQUIRED].update(_image_traits(image.id, image.properties))
    return sorted(found[_REQUIRED]), sorted(found[_FORBIDDEN])


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


_STANDARD_TRAITS = frozenset(os_traits.get_traits())


def _scoped(texts: Mapping[str, str], scope: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield what follows ``scope:`` in the keys, and the values; numbered groups are skipped."""
    for key, text in sorted(texts.items()):
        prefix, _colon, name = key.partition(":")
        if prefix == scope and name:
            yield name, text.strip()
        elif prefix.startswith(scope) and name:
            LOG.warning("%s: %s asks for a numbered group, which is not supported", source, key)


def _add_request_level(group: RequestGroup, spec: RequestSpec) -> None:
    """Add what request filters asked for."""
    params = spec.request_level_params
    if params is None:
        return
    group.required_traits = [*group.required_traits, *([trait] for trait in params.root_required)]
    group.forbidden_traits = [*group.forbidden_traits, *params.root_forbidden]
    group.member_of = params.member_of
    group.forbidden_aggregates = params.forbidden_aggregates


def _is_for_certain_hosts(spec: RequestSpec) -> bool:
    return bool(
        any(spec.hint(name) for name in _UNLIMITED_HINTS)
        or spec.is_forced
        or (spec.requested_destination and spec.requested_destination.host)
    )
