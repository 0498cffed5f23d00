"""Parsing of the query string of ``GET /allocation_candidates``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from armillary.http.microversion import Version
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.candidates.query import GROUPS_MAX, LIMIT_MAX
from placement.rest import errors, query_values
from placement.rest.query_values import Constraints

GROUP_POLICIES = ("none", "isolate")
_NESTED_SINCE = (1, 29)
_SAME_SUBTREE_SINCE = (1, 36)
_KEY = re.compile(r"(resources|required|member_of|in_tree)(.*)", re.DOTALL)
_LIMIT = re.compile(r"[1-9][0-9]{0,18}")

Parameters = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class _Group:
    """Parameters of one group, with their original names."""

    resources: dict[str, int] = field(default_factory=dict)
    traits: Constraints = field(default_factory=Constraints)
    aggregates: Constraints = field(default_factory=Constraints)
    in_tree: str | None = None
    keys: dict[str, str] = field(default_factory=dict)

    def take(self, kind: str, key: str, values: Sequence[str], version: Version) -> None:
        """Parse one parameter of this group."""
        self.keys[kind] = key
        match kind:
            case "resources":
                self.resources = query_values.parse_resources(values[-1])
            case "required":
                self.traits = query_values.parse_traits(key, values, version)
            case "member_of":
                self.aggregates = query_values.parse_aggregates(key, values, version)
            case _:
                self.in_tree = query_values.parse_in_tree(key, values[-1])


_Groups = Mapping[str, _Group]


def parse(parameters: Parameters, version: Version) -> ResourceQuery:
    """Return the query; raise status 400 for the first error.

    Parameter names were validated by the schema. Whether classes and traits exist is not checked.
    """
    groups = _groups(parameters, version)
    same_subtree = _same_subtree(parameters.get("same_subtree", ()), groups)
    _check_groups(groups, version, same_subtree)
    policy = _group_policy(parameters, groups)
    root = _root_traits(parameters.get("root_required", ()), version)
    return ResourceQuery.from_values(
        groups=[_request_group(suffix, group) for suffix, group in groups.items()],
        group_policy=policy,
        limit=_limit(parameters.get("limit")),
        root_required=[trait for (trait,) in root.required],
        root_forbidden=root.forbidden,
        same_subtree=same_subtree,
        is_nested=version >= _NESTED_SINCE,
    )


def resource_classes_of(query: ResourceQuery) -> set[str]:
    """Return all classes that a query names."""
    return {name for group in query.groups for name in group.resources}


def traits_of(query: ResourceQuery) -> set[str]:
    """Return all traits that a query names."""
    return {
        *query.root_required,
        *query.root_forbidden,
        *(trait for group in query.groups for trait in group.forbidden_traits),
        *(trait for group in query.groups for any_of in group.required_traits for trait in any_of),
    }


def _groups(parameters: Parameters, version: Version) -> _Groups:
    groups: dict[str, _Group] = {}
    for key, values in parameters.items():
        if found := _KEY.fullmatch(key):
            kind, suffix = found.groups()
            groups.setdefault(suffix, _Group()).take(kind, key, values, version)
    if len(groups) > GROUPS_MAX:
        raise _bad(f"{len(groups)} request groups are given; at most {GROUPS_MAX} are allowed.")
    return groups


def _check_groups(groups: _Groups, version: Version, same_subtree: list[list[str]]) -> None:
    if version < _SAME_SUBTREE_SINCE:
        if not groups:
            raise errors.bad_request(
                "At least one request group (`resources` or `resources{$S}`) is required."
            )
        _refuse_orphans(groups.values(), None)
    else:
        _check_resourceless(groups, same_subtree)
    for group in groups.values():
        _refuse_conflicts(group.keys.get("required", ""), group.traits)


def _refuse_orphans(groups: Iterable[_Group], code: str | None) -> None:
    """Require resources in every group."""
    orphans = [group.keys for group in groups if not group.resources]
    for kind, name in (("required", "traits"), ("member_of", "member_of")):
        keys = sorted(keys[kind] for keys in orphans if kind in keys)
        if keys:
            raise errors.bad_request(
                f"All {name} parameters must be associated with resources. "
                f"Found the following orphaned {name} keys: {', '.join(keys)}",
                code,
            )
    if orphans:
        raise errors.bad_request("All request groups must specify resources.", code)


def _check_resourceless(groups: _Groups, same_subtree: list[list[str]]) -> None:
    """Allow a group with a suffix without resources, if other groups have some."""
    if not any(group.resources for group in groups.values()):
        raise errors.bad_request(
            "There must be at least one resources or resources[$S] parameter.",
            errors.QUERYPARAM_MISSING_VALUE,
        )
    unnamed = [group for suffix, group in groups.items() if not suffix]
    _refuse_orphans(unnamed, errors.QUERYPARAM_BAD_VALUE)
    together = {suffix for suffixes in same_subtree for suffix in suffixes}
    for suffix, group in groups.items():
        if suffix and not group.resources and suffix not in together:
            raise _bad(
                "Resourceless suffixed group request should be specified in `same_subtree` "
                f"query param: bad group(s) - {suffix}."
            )


def _refuse_conflicts(key: str, traits: Constraints) -> None:
    if conflicting := query_values.conflicting_traits(traits):
        raise errors.bad_request(
            "Conflicting required and forbidden traits found in the following traits keys: "
            f"{key}: ({', '.join(conflicting)})"
        )


def _same_subtree(values: Sequence[str], groups: _Groups) -> list[list[str]]:
    found = []
    for value in values:
        suffixes = list(dict.fromkeys(query_values.items(value)))
        if "" in suffixes:
            raise _bad("Empty string (unsuffixed group) can not be specified in `same_subtree`")
        if unreal := [suffix for suffix in suffixes if suffix not in groups]:
            raise _bad(
                "Real suffixes should be specified in `same_subtree`: "
                f"{', '.join(unreal)} not found in {', '.join(sorted(groups))}"
            )
        found.append(suffixes)
    return found


def _group_policy(parameters: Parameters, groups: _Groups) -> str | None:
    if "group_policy" in parameters:
        policy = parameters["group_policy"][0]
        if policy not in GROUP_POLICIES:
            raise errors.bad_request(
                f"Invalid query string parameters: {policy!r} is not one of {list(GROUP_POLICIES)}"
            )
        return policy
    if sum(bool(suffix and group.resources) for suffix, group in groups.items()) > 1:
        raise errors.bad_request(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
    return None


def _root_traits(values: Sequence[str], version: Version) -> Constraints:
    if not values:
        return Constraints()
    if len(values) > 1:
        raise errors.bad_request(
            "Query parameter 'root_required' may be specified only once.",
            errors.QUERYPARAM_DUPLICATE_KEY,
        )
    if values[0].startswith(query_values.ANY_OF):
        raise errors.bad_request(
            "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' is not "
            "supported in root_required."
        )
    wanted = query_values.parse_traits("root_required", values, version)
    if conflicting := query_values.conflicting_traits(wanted):
        raise _bad(
            "Conflicting required and forbidden traits found in root_required: "
            f"{', '.join(conflicting)}"
        )
    return wanted


def _limit(values: Sequence[str] | None) -> int | None:
    """Of several limits the first applies."""
    if values is None:
        return None
    if not _LIMIT.fullmatch(values[0]):
        raise errors.bad_request(
            f"Invalid query string parameters: limit is not a positive integer: {values[0]}"
        )
    return min(int(values[0]), LIMIT_MAX)


def _request_group(suffix: str, group: _Group) -> RequestGroup:
    return RequestGroup.from_values(
        suffix=suffix,
        resources=group.resources,
        required_traits=group.traits.required,
        forbidden_traits=group.traits.forbidden,
        member_of=group.aggregates.required,
        forbidden_aggregates=group.aggregates.forbidden,
        in_tree=group.in_tree,
    )


def _bad(detail: str) -> Exception:
    return errors.bad_request(detail, errors.QUERYPARAM_BAD_VALUE)
