"""Conversion of a request spec to a placement query: resources, traits, aggregates."""

from __future__ import annotations

import logging

from armillary import exception
from objects.extra_specs import extra_specs
from objects.request_spec import RequestLevelParams, RequestSpec
from objects.resource_query import RequestGroup, ResourceQuery
from scheduler.request.request_groups import UNSUFFIXED, Asked, Demands, demands_of

LOG = logging.getLogger(__name__)

_UNLIMITED_HINTS = ("group", "same_host", "different_host")


def build(
    spec: RequestSpec, *, limit: int, in_tree: str | None = None, has_devices: bool = False
) -> ResourceQuery:
    """Return the placement query for one instance of the request.

    The groups are those of ``request_groups``. If several have a suffix and the flavor sets no
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

    The fallback requests shared CPUs instead, without a thread policy. Raises as ``build``.
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
