"""The smallest change of a query without candidates that gives it one, proven by a search."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from objects.traces.explanation import Lack
from placement.candidates import conditions, find_candidates
from placement.candidates.conditions import Condition
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.query import Group, Query
from placement.candidates.result import Found
from placement.ledger.feasibility import Rule
from placement.providers.columns import Mask, Numbers
from placement.providers.provider_table import ProviderTable

_TRIES_MAX = 3
_OTHER_HOST = 1000  # conditions: what hosts lack that the query cannot mean helps little
_NOT_MEANT = ("in_tree", "forbidden_resource")

_Asked = tuple[int | None, Condition]
"""A condition and the index of its group; None for those on the root."""


def with_lacks(table: ProviderTable, query: Query, found: Found) -> Found:
    """Return a result with the smallest change, unless there are candidates."""
    return found if found.count else replace(found, lacks=find(table, query))


def find(table: ProviderTable, query: Query) -> list[Lack]:
    """Return all that one host lacks, so that the query without it has a candidate there.

    The hosts are tried that fail the fewest conditions, and of these lack the least. Empty if
    that does not help any of them, as when the parts of a request do not go together.
    """
    reach = Reach(table)
    hosts = np.flatnonzero(Funnel(table, reach).remaining)
    asked = [*_conditions(table, query)]
    failing = [~_passes(table, reach, each) for each in asked]
    fails: Numbers = np.zeros(table.size, np.int64)
    short = np.zeros(table.size, np.float64)
    offered: dict[int, Numbers] = {}
    for index, ((_group, condition), mask) in enumerate(zip(asked, failing, strict=True)):
        fails += mask * (_OTHER_HOST if condition.kind in _NOT_MEANT else 1)
        if condition.columns is not None and mask.any():
            offered[index] = np.maximum(reach.best(condition.offered), 0)
            short += np.where(mask, abs(1 - offered[index] / condition.asked), 0.0)
    for row in hosts[np.lexsort((short[hosts], fails[hosts]))[:_TRIES_MAX]].tolist():
        changed, lacks = query, []
        for index, (group, condition) in enumerate(asked):
            if failing[index][row]:
                free = int(offered[index][row]) if index in offered else None
                changed = _without(changed, group, condition, free)
                lacks.append(condition.lack(free))
        if _has_candidate(table, changed):
            left = {name for each in changed.groups for name in each.resources}
            return [each for each in dict.fromkeys(lacks) if not each.rule or each.name in left]
    return []


def _conditions(table: ProviderTable, query: Query) -> Iterator[_Asked]:
    for condition in conditions.of_root(table, query):
        yield None, condition
    for index, group in enumerate(query.groups):
        for condition in conditions.of_single_provider(table, group):
            yield index, condition


def _passes(table: ProviderTable, reach: Reach, asked: _Asked) -> Mask:
    """Return the hosts that pass a condition, with any of their providers unless on the root."""
    group, condition = asked
    return (
        condition.passes if group is None else reach.trees_with(table.is_there & condition.passes)
    )


def _without(query: Query, index: int | None, condition: Condition, free: int | None) -> Query:
    """Return a query that a host with so much free passes, as far as this condition goes."""
    name = condition.name
    if index is None:
        return replace(
            query,
            root_required=tuple(trait for trait in query.root_required if trait != name),
            root_forbidden=tuple(trait for trait in query.root_forbidden if trait != name),
            without_resources=tuple(each for each in query.without_resources if each != name),
        )
    groups = list(query.groups)
    groups[index] = _changed(groups[index], condition, free)
    return replace(query, groups=tuple(groups))


def _changed(group: Group, condition: Condition, free: int | None) -> Group:
    name = condition.name
    match condition.kind:
        case "in_tree":
            return replace(group, in_tree=None)
        case "member_of":
            kept = tuple(each for each in group.member_of if conditions.any_name(each) != name)
            return replace(group, member_of=kept)
        case "forbidden_aggregate":
            left = tuple(each for each in group.forbidden_aggregates if each != name)
            return replace(group, forbidden_aggregates=left)
        case "trait":
            required = group.required_traits
            kept = tuple(each for each in required if conditions.any_name(each) != name)
            return replace(group, required_traits=kept)
        case "forbidden_trait":
            traits = tuple(each for each in group.forbidden_traits if each != name)
            return replace(group, forbidden_traits=traits)
    assert free is not None
    amount = min(free, group.resources[name])
    if condition.rule == Rule.MIN_UNIT.value:
        amount = free
    elif condition.rule == Rule.STEP_SIZE.value:
        amount = max(group.resources[name] // free, 1) * free
    resources = {**group.resources, name: amount}
    return replace(group, resources={key: value for key, value in resources.items() if value})


def _has_candidate(table: ProviderTable, query: Query) -> bool:
    if not any(group.resources for group in query.groups):
        return False
    return find_candidates(table, replace(query, limit=1)).count > 0
