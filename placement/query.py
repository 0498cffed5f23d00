"""The question for allocation candidates, parsed and checked: every name and number is sound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from armillary import exception
from objects.resource_query import RequestGroup, ResourceQuery
from placement import names
from placement.inventory import AMOUNT_MAX

LIMIT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Group:
    """What one provider has to have; of each inner tuple one name suffices."""

    resources: dict[str, int]
    required_traits: tuple[tuple[str, ...], ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()
    in_tree: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question about plain providers: one group, and how many answers are wanted (None: all)."""

    group: Group
    limit: int | None = None


def parse(query: ResourceQuery) -> Query:
    """Check a question from outside; raise ``InvalidResourceQuery`` with the first mistake."""
    if len(query.groups) != 1 or query.groups[0].suffix:
        raise _invalid(
            f"one request group without suffix is expected, {len(query.groups)} were given"
            f"{_suffixes(query.groups)}"
        )
    if query.limit is not None and not 1 <= query.limit <= LIMIT_MAX:
        raise _invalid(f"limit must be from 1 to {LIMIT_MAX}, not {query.limit}")
    return Query(group=_parse_group(query.groups[0]), limit=query.limit)


def _parse_group(group: RequestGroup) -> Group:
    parsed = Group(
        resources=_resources(group.resources),
        required_traits=_any_of("required_traits", group.required_traits, _trait),
        forbidden_traits=tuple(_trait(name) for name in group.forbidden_traits),
        member_of=_any_of("member_of", group.member_of, _aggregate),
        forbidden_aggregates=tuple(_aggregate(uuid) for uuid in group.forbidden_aggregates),
        in_tree=group.in_tree,
    )
    for required in parsed.required_traits:
        if set(required) <= set(parsed.forbidden_traits):
            raise _invalid(f"trait {' or '.join(required)} is both required and forbidden")
    return parsed


def _resources(resources: dict[str, int]) -> dict[str, int]:
    if not resources:
        raise _invalid("resources must name at least one resource class")
    for name, amount in resources.items():
        if not names.is_resource_class(name):
            raise _invalid(f"there is no resource class {name}")
        if not 1 <= amount <= AMOUNT_MAX:
            raise _invalid(f"the amount of {name} must be from 1 to {AMOUNT_MAX}, not {amount}")
    return dict(resources)


def _any_of(field: str, value: Any, check: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(inner, list) and inner for inner in value):
        raise _invalid(f"{field} must be a list of lists with at least one name each")
    return tuple(tuple(check(name) for name in inner) for inner in value)


def _trait(name: Any) -> str:
    if not isinstance(name, str) or not names.is_trait(name):
        raise _invalid(f"there is no trait {name}")
    return name


def _aggregate(uuid: Any) -> str:
    if not names.is_uuid(uuid):
        raise _invalid(f"an aggregate is named by its UUID in lower case, not by {uuid}")
    return str(uuid)


def _suffixes(groups: Sequence[RequestGroup]) -> str:
    suffixes: Iterable[str] = (group.suffix for group in groups if group.suffix)
    named = ", ".join(suffixes)
    return f" (suffixes {named})" if named else ""


def _invalid(reason: str) -> exception.InvalidResourceQuery:
    return exception.InvalidResourceQuery(reason=reason)
