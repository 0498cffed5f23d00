"""Turn a request spec into the question for placement: amounts, traits, aggregates."""

from __future__ import annotations

import logging

from armillary import exception
from objects.request_spec import RequestLevelParams, RequestSpec
from objects.resource_query import RequestGroup, ResourceQuery
from scheduler.request_groups import UNSUFFIXED, Demands, demands_of

LOG = logging.getLogger(__name__)

POLICY_KEY = "group_policy"
POLICIES = ("none", "isolate")

_UNLIMITED_HINTS = ("group", "same_host", "different_host")


def build(spec: RequestSpec, *, limit: int) -> ResourceQuery:
    """Return the question for one instance of the request.

    The groups are those of ``request_groups``; where several have a suffix and the flavor names no
    ``group_policy``, one provider may serve several of them. Traits that are asked for without any
    resources beside them are asked of the root. ``limit`` is the number of candidates wanted, 0 for
    all; a request that a limit could starve is not limited. Raises ``RequestFilterFailed`` when
    aggregates are asked for and every resource is in a group with a suffix.
    """
    demands = demands_of(spec)
    host = demands.pop(UNSUFFIXED)
    params = spec.request_level_params or RequestLevelParams.from_values()
    root_required, root_forbidden = set(params.root_required), set(params.root_forbidden)
    groups = []
    if host.resources:
        groups.append(_group(UNSUFFIXED, host, params))
    else:
        _refuse_aggregates(params)
        root_required |= host.required
        root_forbidden |= host.forbidden
    groups += [_group(suffix, item) for suffix, item in demands.items() if item.resources]
    return ResourceQuery.from_values(
        groups=groups,
        group_policy=_policy(spec, sum(1 for group in groups if group.suffix)),
        root_required=sorted(root_required),
        root_forbidden=sorted(root_forbidden),
        limit=None if limit == 0 or _is_for_certain_hosts(spec) else limit,
    )


def traits_of(spec: RequestSpec) -> tuple[set[str], set[str]]:
    """Return all traits that flavor and image require, and all that they forbid."""
    demands = demands_of(spec).values()
    return (
        {trait for item in demands for trait in item.required},
        {trait for item in demands for trait in item.forbidden},
    )


def _group(suffix: str, demands: Demands, params: RequestLevelParams | None = None) -> RequestGroup:
    return RequestGroup.from_values(
        suffix=suffix,
        resources=demands.resources,
        required_traits=[[trait] for trait in sorted(demands.required)],
        forbidden_traits=sorted(demands.forbidden),
        member_of=params.member_of if params else [],
        forbidden_aggregates=params.forbidden_aggregates if params else [],
    )


def _refuse_aggregates(params: RequestLevelParams) -> None:
    if params.member_of or params.forbidden_aggregates:
        raise exception.RequestFilterFailed(
            reason="aggregates, as of an availability zone, can be asked only of a request with "
            "resources outside of groups with a suffix"
        )


def _policy(spec: RequestSpec, suffixed: int) -> str | None:
    policy = spec.flavor.extra_specs.get(POLICY_KEY)
    if policy is not None and policy not in POLICIES:
        LOG.warning(
            "flavor %s: %s=%s is neither none nor isolate", spec.flavor.name, POLICY_KEY, policy
        )
        policy = None
    return policy or (POLICIES[0] if suffixed > 1 else None)


def _is_for_certain_hosts(spec: RequestSpec) -> bool:
    return bool(
        any(spec.hint(name) for name in _UNLIMITED_HINTS)
        or spec.is_forced
        or (spec.requested_destination and spec.requested_destination.host)
    )
