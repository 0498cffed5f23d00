"""Queries for allocation candidates, parsed and validated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from armillary import exception
from armillary.names.identifiers import is_uuid
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.providers import names

LIMIT_MAX = 2**31 - 1
GROUPS_MAX = 100
CLASSES_MAX = 100
ASKED_MAX = 2**53
"""Largest amount that can be asked for: no provider has it, and sums still fit into a column."""
_POLICIES = {None: False, "none": False, "isolate": True}


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions on one provider; of each inner tuple one name suffices.

    The group without suffix may be served by several providers, each class by one of them.
    """

    resources: dict[str, int]
    required_traits: tuple[tuple[str, ...], ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()
    in_tree: str | None = None
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A query: at least one group, at least one with resources, each suffix once.

    ``is_isolated``: groups with a suffix are served by distinct providers. ``same_subtrees``:
    suffixes of groups served by one of their providers and its descendants. ``is_nested`` false: at
    most one provider of each tree in a candidate. ``without_resources``: classes of which no
    provider of the tree has an inventory. ``limit`` None: all.
    """

    groups: tuple[Group, ...]
    is_isolated: bool = False
    same_subtrees: tuple[frozenset[str], ...] = ()
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    without_resources: tuple[str, ...] = ()
    is_nested: bool = True
    limit: int | None = None


def parse(query: ResourceQuery) -> Query:
    """Validate a query; raise ``InvalidResourceQuery`` with the first error."""
    if query.limit is not None and not 1 <= query.limit <= LIMIT_MAX:
        raise _invalid(f"limit must be from 1 to {LIMIT_MAX}, not {query.limit}")
    _check_groups(query.groups)
    root_required = tuple(_trait(name) for name in query.root_required)
    root_forbidden = tuple(_trait(name) for name in query.root_forbidden)
    for name in root_required:
        if name in root_forbidden:
            raise _invalid(f"trait {name} of the root is both required and forbidden")
    same_subtrees = _same_subtrees(query.same_subtree, {group.suffix for group in query.groups})
    return Query(
        groups=tuple(_parse_group(group, same_subtrees) for group in query.groups),
        is_isolated=_is_isolated(query),
        same_subtrees=same_subtrees,
        root_required=root_required,
        root_forbidden=root_forbidden,
        without_resources=tuple(map(_resource_class, query.without_resources)),
        is_nested=query.is_nested,
        limit=query.limit,
    )


def _check_groups(groups: Sequence[RequestGroup]) -> None:
    if not any(group.resources for group in groups):
        raise _invalid("at least one request group must have resources")
    if len(groups) > GROUPS_MAX:
        raise _invalid(f"{len(groups)} request groups were given; at most {GROUPS_MAX} are allowed")
    suffixes = [group.suffix for group in groups]
    for suffix in suffixes:
        if suffixes.count(suffix) > 1:
            raise _invalid(f"duplicate request group {_named(suffix)}")


def _is_isolated(query: ResourceQuery) -> bool:
    if query.group_policy not in _POLICIES:
        raise _invalid(f"group_policy must be none or isolate, not {query.group_policy}")
    numbered = sum(1 for group in query.groups if group.suffix and group.resources)
    if query.group_policy is None and numbered > 1:
        raise _invalid("group_policy is required with several groups that have a suffix")
    return _POLICIES[query.group_policy]


def _same_subtrees(value: Any, known: set[str]) -> tuple[frozenset[str], ...]:
    if not isinstance(value, list) or not all(isinstance(inner, list) and inner for inner in value):
        raise _invalid("same_subtree must be a list of lists with at least one suffix each")
    for suffix in (suffix for inner in value for suffix in inner):
        if not suffix or suffix not in known:
            raise _invalid(f"same_subtree names {suffix!r}, which is not the suffix of a group")
    return tuple(frozenset(inner) for inner in value)


def _parse_group(group: RequestGroup, same_subtrees: Iterable[frozenset[str]]) -> Group:
    if not group.resources and not any(group.suffix in suffixes for suffixes in same_subtrees):
        raise _invalid(
            f"the group {_named(group.suffix)} must name at least one resource class, or be in "
            "same_subtree"
        )
    parsed = Group(
        resources=_resources(group.resources),
        required_traits=_any_of("required_traits", group.required_traits, _trait),
        forbidden_traits=tuple(_trait(name) for name in group.forbidden_traits),
        member_of=_any_of("member_of", group.member_of, _aggregate),
        forbidden_aggregates=tuple(_aggregate(uuid) for uuid in group.forbidden_aggregates),
        in_tree=group.in_tree,
        suffix=group.suffix,
    )
    for required in parsed.required_traits:
        if set(required) <= set(parsed.forbidden_traits):
            raise _invalid(f"trait {' or '.join(required)} is both required and forbidden")
    return parsed


def _resources(resources: dict[str, int]) -> dict[str, int]:
    if len(resources) > CLASSES_MAX:
        raise _invalid(
            f"{len(resources)} resource classes in a group; at most {CLASSES_MAX} are allowed"
        )
    for name, amount in resources.items():
        _resource_class(name)
        if not 1 <= amount <= ASKED_MAX:
            raise _invalid(f"the amount of {name} must be from 1 to {ASKED_MAX}, not {amount}")
    return dict(resources)


def _resource_class(name: str) -> str:
    if not names.is_resource_class(name):
        raise _invalid(f"no resource class {name} exists")
    return name


def _any_of(field: str, value: Any, check: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(inner, list) and inner for inner in value):
        raise _invalid(f"{field} must be a list of lists with at least one name each")
    return tuple(tuple(check(name) for name in inner) for inner in value)


def _trait(name: Any) -> str:
    if not isinstance(name, str) or not names.is_trait(name):
        raise _invalid(f"no trait {name} exists")
    return name


def _aggregate(uuid: Any) -> str:
    if not is_uuid(uuid):
        raise _invalid(f"the UUID of an aggregate must be in lower case, not {uuid}")
    return str(uuid)


def _named(suffix: str) -> str:
    return f"with suffix {suffix}" if suffix else "without suffix"


def _invalid(reason: str) -> exception.InvalidResourceQuery:
    return exception.InvalidResourceQuery(reason=reason)
