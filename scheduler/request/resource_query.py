"""Conversion of a request spec to a placement query: resources, traits, aggregates.

Flavors and images ask for groups: ``resources:VCPU``, ``trait_NET1:HW_NIC``, ... The part between
``resources`` or ``trait`` and the colon is the suffix of a group, which a single provider serves.
Without a suffix, the classes may be served by several providers of a tree. An invalid class,
amount, trait or value is logged and ignored.
"""

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import os_traits

from armillary import exception
from objects import numa
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from objects.claims.resource_kinds import get_kind
from objects.extra_specs import extra_specs
from objects.numa import CpuDemand
from objects.numa.instance import ISOLATE, REQUIRE
from objects.request_spec import RequestLevelParams, RequestSpec
from scheduler.request import derived_requirements

LOG = logging.getLogger(__name__)

UNSUFFIXED = ""

_DEDICATED = "PCPU"
_MB_IN_GB = 1024
_UNLIMITED_HINTS = ("group", "same_host", "different_host")


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


def build(
    spec: RequestSpec, *, limit: int, in_tree: str | None = None, has_devices: bool = False
) -> ResourceQuery:
    """Return the placement query for one instance of the request.

    If several groups have a suffix and the flavor sets no
    ``group_policy``, one provider may serve several of them. Traits without any resources beside
    them are required of the root. ``limit`` is the maximum number of candidates, 0 for all; it is
    dropped for requests that might not find their hosts with it. ``in_tree`` restricts the query to
    one node. With ``has_devices``, placement tracks PCI devices. Raises ``RequestFilterFailed`` if
    aggregates are required but every resource is in a group with a suffix, and for invalid CPU or
    device requests.
    """
    return _query(spec, demands_of(spec, has_devices=has_devices), limit, in_tree)


def build_both(
    spec: RequestSpec, *, limit: int, in_tree: str | None = None, has_devices: bool = False
) -> tuple[ResourceQuery, ResourceQuery | None]:
    """Return the query and, for pinned CPUs, a fallback for hosts without a dedicated inventory.

    The fallback requests shared CPUs instead, without a thread policy, of hosts that have no
    inventory of dedicated CPUs. There is none if a group names ``PCPU``. Raises as ``build``.
    """
    asked = demands_of(spec, has_devices=has_devices)
    first = _query(spec, asked, limit, in_tree)
    if not asked.pinned_cpus:
        return first, None
    shared = demands_of(spec, pins_cpus=False, has_devices=has_devices)
    if any(_DEDICATED in demands.resources for demands in shared.groups.values()):
        return first, None
    fallback = _query(spec, shared, limit, in_tree)
    return first, fallback.with_values(without_resources=[_DEDICATED])


def traits_of(spec: RequestSpec) -> tuple[set[str], set[str]]:
    """Return all traits that flavor and image require, and all that they forbid."""
    asked = demands_of(spec)
    demands = asked.groups.values()
    return (
        asked.root_required.union(*(item.required for item in demands)),
        {trait for item in demands for trait in item.forbidden},
    )


def membership_trait(spec: RequestSpec) -> str:
    """Return the trait by which a provider is a host at all, or a pool of the requested kind."""
    return os_traits.OWNER_NOVA if spec.kind is None else get_kind(spec.kind).trait


# The query ---------------------------------------------------------------------------------------


def _query(spec: RequestSpec, asked: Asked, limit: int, in_tree: str | None) -> ResourceQuery:
    demands = dict(asked.groups)
    host = demands.pop(UNSUFFIXED)
    params = spec.request_level_params or RequestLevelParams.from_values()
    root_required = asked.root_required.union(params.root_required)
    root_forbidden = set(params.root_forbidden)
    groups = []
    if host.resources:
        groups.append(_group(UNSUFFIXED, host, params, in_tree))
    else:
        _refuse_aggregates(params)
        root_required |= host.required
        root_forbidden |= host.forbidden
    same_subtree = _same_subtree(spec, demands)
    beside = {suffix for suffixes in same_subtree for suffix in suffixes}
    groups += [
        _group(suffix, item, in_tree=None if host.resources else in_tree)
        for suffix, item in demands.items()
        if item.resources or suffix in beside
    ]
    return ResourceQuery.from_values(
        groups=groups,
        group_policy=_policy(spec, sum(1 for group in groups if group.suffix)),
        root_required=_ordered(root_required, membership_trait(spec)),
        root_forbidden=sorted(root_forbidden),
        same_subtree=same_subtree,
        limit=None if limit == 0 or _is_for_certain_hosts(spec) else limit,
    )


def _ordered(traits: Iterable[str], first: str) -> list[str]:
    """Return traits in order, with that of membership first.

    Placement counts each provider at the first rule that it fails. So those of other services are
    told from hosts that lack something.
    """
    return sorted(traits, key=lambda trait: (trait != first, trait))


def _group(
    suffix: str,
    demands: Demands,
    params: RequestLevelParams | None = None,
    in_tree: str | None = None,
) -> RequestGroup:
    return RequestGroup.from_values(
        suffix=suffix,
        resources=demands.resources,
        required_traits=[[trait] for trait in sorted(demands.required)],
        forbidden_traits=sorted(demands.forbidden),
        member_of=params.member_of if params else [],
        forbidden_aggregates=params.forbidden_aggregates if params else [],
        in_tree=in_tree,
    )


def _refuse_aggregates(params: RequestLevelParams) -> None:
    if params.member_of or params.forbidden_aggregates:
        raise exception.RequestFilterFailed(
            reason="aggregates, such as those of an availability zone, require the request to "
            "have resources outside of groups with a suffix"
        )


def _same_subtree(spec: RequestSpec, demands: dict[str, Demands]) -> list[list[str]]:
    """Return the flavor's lists of groups whose providers must share a subtree."""
    text = spec.flavor.extra_specs.get(extra_specs.SAME_SUBTREE)
    if text is None:
        return []
    try:
        wanted = extra_specs.subtrees(text)
    except ValueError:
        wanted = [[text]]
    if not all(suffix in demands for suffixes in wanted for suffix in suffixes):
        LOG.warning(
            "Flavor %s: %s=%s contains a suffix without a group",
            spec.flavor.name, extra_specs.SAME_SUBTREE, text[:80],
        )  # fmt: skip
        return []
    return wanted


def _policy(spec: RequestSpec, suffixed: int) -> str | None:
    policy = spec.flavor.extra_specs.get(extra_specs.GROUP_POLICY)
    if policy is not None and policy not in extra_specs.GROUP_POLICIES:
        LOG.warning(
            "Flavor %s: %s=%s is neither none nor isolate",
            spec.flavor.name, extra_specs.GROUP_POLICY, policy,
        )  # fmt: skip
        policy = None
    return policy or (extra_specs.GROUP_POLICIES[0] if suffixed > 1 else None)


def _is_for_certain_hosts(spec: RequestSpec) -> bool:
    destination = spec.requested_destination
    return bool(
        any(spec.hint(name) for name in _UNLIMITED_HINTS)
        or spec.is_forced
        or (destination and destination.is_single_host)
    )


# Request groups of flavor and image ---------------------------------------------------------------


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
        for suffix, resource_class, traits in derived_requirements.device_groups(spec):
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
    sizes = {
        "VCPU": cpus.vcpus,
        _DEDICATED: cpus.pcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": spec.disk_gb + math.ceil(flavor.swap_mb / _MB_IN_GB),
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


def expected_allocations(spec: RequestSpec) -> list[dict[str, int]]:
    """Return the requested amounts, summed over all providers, one dict per alternative.

    Pinned CPUs have two alternatives. Empty if the request cannot be expressed as a query.
    """
    try:
        queries = build_both(spec, limit=0)
    except exception.RequestFilterFailed:
        return []
    return [_amounts(query) for query in queries if query is not None]


def _amounts(query: ResourceQuery) -> dict[str, int]:
    amounts: Counter[str] = Counter()
    for group in query.groups:
        amounts.update(group.resources)
    return dict(amounts)
