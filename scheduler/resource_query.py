"""Turn a request spec into the question for placement: amounts, traits, aggregates."""

from __future__ import annotations

import logging

from armillary import exception
from objects import extra_specs
from objects.request_spec import RequestLevelParams, RequestSpec
from objects.resource_query import RequestGroup, ResourceQuery
from scheduler.request_groups import UNSUFFIXED, Asked, Demands, demands_of

LOG = logging.getLogger(__name__)

_UNLIMITED_HINTS = ("group", "same_host", "different_host")


def build(
    spec: RequestSpec, *, limit: int, in_tree: str | None = None, has_devices: bool = False
) -> ResourceQuery:
    """Return the question for one instance of the request.

    The groups are those of ``request_groups``; where several have a suffix and the flavor names no
    ``group_policy``, one provider may serve several of them. Traits that are asked for without any
    resources beside them are asked of the root. ``limit`` is the number of candidates wanted, 0 for
    all; a request that a limit could starve is not limited. ``in_tree`` is the node that alone is
    wanted. With ``has_devices`` placement keeps count of PCI devices. Raises
    ``RequestFilterFailed`` when aggregates are asked for and every resource is in a group with a
    suffix, and for CPUs or devices that cannot be asked for.
    """
    return _query(spec, demands_of(spec, has_devices=has_devices), limit, in_tree)


def build_both(
    spec: RequestSpec, *, limit: int, in_tree: str | None = None, has_devices: bool = False
) -> tuple[ResourceQuery, ResourceQuery | None]:
    """Return the question, and with pinned CPUs that for hosts that count none of these apart.

    The second asks for shared CPUs in their place, without a thread policy. Raises as ``build``.
    """
    asked = demands_of(spec, has_devices=has_devices)
    first = _query(spec, asked, limit, in_tree)
    if not asked.pinned_cpus:
        return first, None
    shared = demands_of(spec, pins_cpus=False, has_devices=has_devices)
    return first, _query(spec, shared, limit, in_tree)


def traits_of(spec: RequestSpec) -> tuple[set[str], set[str]]:
    """Return all traits that flavor and image require, and all that they forbid."""
    asked = demands_of(spec)
    demands = asked.groups.values()
    return (
        asked.root_required.union(*(item.required for item in demands)),
        {trait for item in demands for trait in item.forbidden},
    )


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
        root_required=sorted(root_required),
        root_forbidden=sorted(root_forbidden),
        same_subtree=same_subtree,
        limit=None if limit == 0 or _is_for_certain_hosts(spec) else limit,
    )


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
            reason="aggregates, as of an availability zone, can be asked only of a request with "
            "resources outside of groups with a suffix"
        )


def _same_subtree(spec: RequestSpec, demands: dict[str, Demands]) -> list[list[str]]:
    """Return the lists of groups whose providers are below one of them, as the flavor says."""
    text = spec.flavor.extra_specs.get(extra_specs.SAME_SUBTREE)
    if text is None:
        return []
    try:
        wanted = extra_specs.subtrees(text)
    except ValueError:
        wanted = [[text]]
    if not all(suffix in demands for suffixes in wanted for suffix in suffixes):
        LOG.warning(
            "flavor %s: %s=%s names what is no suffix of its groups",
            spec.flavor.name, extra_specs.SAME_SUBTREE, text[:80],
        )  # fmt: skip
        return []
    return wanted


def _policy(spec: RequestSpec, suffixed: int) -> str | None:
    policy = spec.flavor.extra_specs.get(extra_specs.GROUP_POLICY)
    if policy is not None and policy not in extra_specs.GROUP_POLICIES:
        LOG.warning(
            "flavor %s: %s=%s is neither none nor isolate",
            spec.flavor.name, extra_specs.GROUP_POLICY, policy,
        )  # fmt: skip
        policy = None
    return policy or (extra_specs.GROUP_POLICIES[0] if suffixed > 1 else None)


def _is_for_certain_hosts(spec: RequestSpec) -> bool:
    destination = spec.requested_destination
    return bool(
        any(spec.hint(name) for name in _UNLIMITED_HINTS)
        or spec.is_forced
        or (destination and destination.names_a_host)
    )
