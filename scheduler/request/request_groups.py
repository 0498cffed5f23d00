"""Request groups from flavors and images: ``resources:VCPU``, ``trait_NET1:HW_NIC``, ...

The part between ``resources`` or ``trait`` and the colon is the suffix of a group, which a single
provider serves. Without a suffix, the classes may be served by several providers of a tree. An
invalid class, amount, trait or value is logged and ignored.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import os_traits

from armillary import exception
from objects import numa
from objects.extra_specs import extra_specs
from objects.numa import CpuDemand
from objects.numa.instance import ISOLATE, REQUIRE
from objects.request_spec import RequestSpec
from scheduler.request import derived_requirements, pci_groups

LOG = logging.getLogger(__name__)

UNSUFFIXED = ""

_MB_IN_GB = 1024


@dataclass
class Demands:
    """Requirements for the provider or providers of one group."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Asked:
    """All requirements: groups by suffix, always with one without a suffix, and root traits.

    ``pinned_cpus`` is the number of dedicated CPUs.
    """

    groups: dict[str, Demands]
    root_required: set[str]
    pinned_cpus: int


def demands_of(spec: RequestSpec, *, pins_cpus: bool = True, has_devices: bool = False) -> Asked:
    """Return the requirements of flavor and image.

    If ``pins_cpus`` is False, all CPUs are requested as shared ones. With ``has_devices``,
    requested PCI devices become groups, too. Raises ``RequestFilterFailed`` for invalid CPU or
    device requests.
    """
    found: dict[str, Demands] = defaultdict(Demands, {UNSUFFIXED: Demands()})
    _add_named(found, spec)
    cpus = _cpus(spec)
    _add_sizes(found, spec, cpus if pins_cpus else _shared_only(spec))
    if has_devices:
        for suffix, resource_class, traits in pci_groups.groups_of(spec):
            found[suffix] = Demands({resource_class: 1}, required=traits)
    return Asked(
        groups={suffix: found[suffix] for suffix in sorted(found)},
        root_required=set(derived_requirements.of_root(spec)),
        pinned_cpus=cpus.pcpus,
    )


def _add_named(found: Mapping[str, Demands], spec: RequestSpec) -> None:
    """Add resources and traits that extra specs and image properties name explicitly."""
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


def _add_sizes(found: Mapping[str, Demands], spec: RequestSpec, cpus: CpuDemand) -> None:
    """Add resources derived from sizes, unless named by a group; drop amounts of 0."""
    flavor, unsuffixed = spec.flavor, found[UNSUFFIXED]
    derived, traits = derived_requirements.of_providers(spec)
    disk_gb = flavor.ephemeral_gb if spec.is_bfv else flavor.disk_gb
    sizes = {
        "VCPU": cpus.vcpus,
        "PCPU": cpus.pcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": disk_gb + math.ceil(flavor.swap_mb / _MB_IN_GB),
        **derived,
    }
    named = {name for demands in found.values() for name in demands.resources}
    unsuffixed.resources = {
        **{name: amount for name, amount in sizes.items() if name not in named},
        **unsuffixed.resources,
    }
    for demands in found.values():
        demands.resources = {name: amount for name, amount in demands.resources.items() if amount}
    unsuffixed.required |= traits
    if cpus.pcpus and cpus.thread_policy == REQUIRE:
        unsuffixed.required.add(os_traits.HW_CPU_HYPERTHREADING)
    if cpus.pcpus and cpus.thread_policy == ISOLATE:
        unsuffixed.forbidden.add(os_traits.HW_CPU_HYPERTHREADING)


def _shared_only(spec: RequestSpec) -> CpuDemand:
    return CpuDemand(vcpus=spec.flavor.vcpus, pcpus=0, thread_policy=None)


def _cpus(spec: RequestSpec) -> CpuDemand:
    if not spec.flavor.extra_specs and not (spec.image and spec.image.properties):
        return _shared_only(spec)
    try:
        return numa.cpu_demand(spec.flavor, spec.image)
    except exception.Invalid as error:
        raise exception.RequestFilterFailed(reason=error.message) from error


def _entries(texts: Mapping[str, str], source: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield scope, suffix, name and value of the keys for placement."""
    for key, text in sorted(texts.items()):
        group = extra_specs.group_key(key)
        if group is not None:
            yield *group, text.strip()
        elif extra_specs.is_like_a_group_key(key):
            LOG.warning("%s: %s has an invalid request group suffix", source, key[:80])


def _add_resource(demands: Demands, source: str, name: str, text: str) -> None:
    amount = extra_specs.amount(text)
    if not extra_specs.is_resource_class(name):
        LOG.warning("%s: resources:%s is not a resource class", source, name)
    elif amount is None:
        LOG.warning("%s: resources:%s=%s is not a valid amount", source, name, text)
    else:
        demands.resources[name] = amount


def _add_trait(demands: Demands, source: str, name: str, word: str) -> None:
    if not extra_specs.is_trait(name):
        LOG.warning("%s: trait:%s is not a trait", source, name)
    elif word == extra_specs.REQUIRED:
        demands.required.add(name)
    elif word == extra_specs.FORBIDDEN:
        demands.forbidden.add(name)
    else:
        LOG.warning("%s: trait:%s=%s is neither required nor forbidden", source, name, word)


def _image_traits(image_id: str, properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the traits of the image property ``traits_required``, a comma-separated list."""
    for text in properties.get("traits_required", "").split(","):
        trait = text.strip()
        if extra_specs.is_trait(trait):
            yield trait
        elif trait:
            LOG.warning("Image %s: traits_required contains %s, not a trait", image_id, trait)
