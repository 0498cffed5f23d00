"""The query in the engine's form: demands, each served by a single provider."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from placement.candidates.query import Group, Query


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand on one provider: a group, or one class of the group without suffix.

    Demands with the same ``need`` (a number) have equal conditions.
    """

    suffix: str
    resources: Mapping[str, int]
    need: int


@dataclass(frozen=True, slots=True)
class Problem:
    """All demands of a query, and their joint conditions.

    ``groups`` has the group of each need. ``contested`` names the classes of which one provider may
    have to serve several demands. ``same_subtrees`` are positions of demands. ``is_split``: the
    group without suffix has several classes, so its providers must have the required traits
    together: one of each of the ``choices_of_traits``.
    """

    demands: tuple[Demand, ...]
    groups: tuple[Group, ...]
    contested: tuple[str, ...]
    same_subtrees: tuple[tuple[int, ...], ...]
    is_isolated: bool
    is_nested: bool
    is_split: bool
    choices_of_traits: int

    @property
    def numbered(self) -> tuple[Demand, ...]:
        """The demands of groups with a suffix."""
        return tuple(demand for demand in self.demands if demand.suffix)

    @property
    def totals(self) -> Mapping[str, int]:
        """Total requested amount of each class."""
        sums: Counter[str] = Counter()
        for demand in self.demands:
            sums.update(demand.resources)
        return sums


def problem_of(query: Query) -> Problem:
    """Convert a query."""
    demands: list[Demand] = []
    groups: list[Group] = []
    numbers: dict[object, int] = {}
    for group in query.groups:
        for resources in _parts(group):
            key = key_of(group, resources)
            if key not in numbers:
                numbers[key] = len(groups)
                groups.append(group)
            demands.append(Demand(group.suffix, resources, numbers[key]))
    split = [group for group in query.groups if not group.suffix and len(group.resources) > 1]
    return Problem(
        demands=tuple(demands),
        groups=tuple(groups),
        contested=_contested(demands, is_isolated=query.is_isolated),
        same_subtrees=tuple(
            tuple(at for at, demand in enumerate(demands) if demand.suffix in suffixes)
            for suffixes in query.same_subtrees
            if len(suffixes) > 1
        ),
        is_isolated=query.is_isolated,
        is_nested=query.is_nested,
        is_split=bool(split),
        choices_of_traits=sum(len(group.required_traits) for group in split),
    )


def _contested(demands: Iterable[Demand], *, is_isolated: bool) -> tuple[str, ...]:
    """Return the classes of which one provider may have to serve several demands."""
    asking: dict[str, Counter[bool]] = {}
    for demand in demands:
        for name in demand.resources:
            asking.setdefault(name, Counter())[bool(demand.suffix)] += 1
    return tuple(
        name
        for name, counts in asking.items()
        if counts[False] + (min(counts[True], 1) if is_isolated else counts[True]) > 1
    )


def _parts(group: Group) -> list[dict[str, int]]:
    if group.suffix:
        return [group.resources]
    return [{name: amount} for name, amount in group.resources.items()]


def key_of(group: Group, resources: Mapping[str, int]) -> object:
    """Return a key that is equal for groups with equal conditions."""
    return (
        bool(group.suffix),
        frozenset(resources.items()),
        group.required_traits,
        group.forbidden_traits,
        group.member_of,
        group.forbidden_aggregates,
        group.in_tree,
    )
