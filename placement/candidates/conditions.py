"""Conditions of a request group on a provider, each as one boolean column."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from objects.traces.explanation import Lack, Rejection
from placement.candidates.query import Group, Query
from placement.ledger import feasibility
from placement.ledger.feasibility import Rule
from placement.providers.columns import ClassColumns, Mask, Numbers
from placement.providers.provider_table import ProviderTable


@dataclass(frozen=True, slots=True)
class Condition:
    """The rows that pass; ``kind`` and ``name`` as in ``DecisionTrace``.

    For resources also the amount, its class, and the part of the rule unless that is free capacity.
    """

    kind: str
    name: str
    passes: Mask
    asked: int = 0
    columns: ClassColumns | None = None
    rule: str | None = None

    @property
    def offered(self) -> Numbers:
        """Per row what the amount is compared with: the free amount, or the rule's own value."""
        assert self.columns is not None
        if self.rule is None:
            return np.asarray(self.columns.capacity - self.columns.used, np.int64)
        values: Numbers = getattr(self.columns, self.rule)
        return values

    def rejecting(self, count: int, offered: Numbers | None = None) -> Rejection:
        """Return how many providers it rejects; ``offered`` are their amounts of a resource.

        The best is the greatest of them, or the least of what is a minimum or a step.
        """
        if offered is None:
            return Rejection(self.kind, self.name, count)
        is_least_best = self.rule in (Rule.MIN_UNIT.value, Rule.STEP_SIZE.value)
        best = (offered.min if is_least_best else offered.max)() if len(offered) else 0
        return Rejection(self.kind, self.name, count, self.asked, max(0, int(best)), self.rule)

    def lack(self, offered: int | None) -> Lack:
        """Return what a provider lacks that fails; ``offered`` is its amount of a resource."""
        if offered is None:
            return Lack(self.kind, self.name)
        if self.rule is not None:
            return Lack(self.kind, self.name, self.asked, offered, self.rule)
        short = max(self.asked - offered, 0)
        return Lack(self.kind, self.name, self.asked, offered, short=short)


def of_places(table: ProviderTable, group: Group) -> Iterator[Condition]:
    """Yield a group's conditions on tree and aggregates."""
    if group.in_tree is not None:
        yield Condition("in_tree", group.in_tree, _is_in_tree(table, group.in_tree))
    for aggregates in group.member_of:
        passes = _any(_is_member(table, group, aggregate) for aggregate in aggregates)
        yield Condition("member_of", any_name(aggregates), passes)
    for aggregate in group.forbidden_aggregates:
        yield Condition("forbidden_aggregate", aggregate, ~_is_member(table, group, aggregate))


def of_required_traits(table: ProviderTable, group: Group) -> Iterator[Condition]:
    """Yield the required traits of a group."""
    for traits in group.required_traits:
        yield Condition("trait", any_name(traits), _any(map(table.has_trait, traits)))


def of_forbidden_traits(table: ProviderTable, group: Group) -> Iterator[Condition]:
    """Yield the forbidden traits of a group."""
    for trait in group.forbidden_traits:
        yield Condition("forbidden_trait", trait, ~table.has_trait(trait))


def of_root(table: ProviderTable, query: Query) -> Iterator[Condition]:
    """Yield the conditions on the root of a tree: its traits, and what its tree must not offer."""
    for trait in query.root_required:
        yield Condition("trait", trait, table.has_trait(trait))
    for trait in query.root_forbidden:
        yield Condition("forbidden_trait", trait, ~table.has_trait(trait))
    for name in query.without_resources:
        has_inventory = table.columns_of(name).max_unit > 0
        offers: Mask = np.zeros(table.size, np.bool_)
        offers[table.root_rows[has_inventory]] = True
        yield Condition("forbidden_resource", name, ~offers)


def of_resource(table: ProviderTable, name: str, amount: int) -> Iterator[Condition]:
    """Yield the parts of the rule for one amount of one class."""
    columns = table.columns_of(name)
    passes = dict(feasibility.rules(amount, columns, columns.used))
    # Each provider fails at its tighter limit alone: an amount within that limit would fit.
    has_less_free = columns.max_unit >= columns.capacity - columns.used
    passes[Rule.MAX_UNIT] = passes[Rule.MAX_UNIT] | has_less_free
    passes[Rule.CAPACITY] = passes[Rule.CAPACITY] | ~has_less_free
    for rule, mask in passes.items():
        detail = None if rule is Rule.CAPACITY else rule.value
        yield Condition("resource", name, mask, amount, columns, detail)


def of_total(table: ProviderTable, name: str, total: int) -> Iterator[Condition]:
    """Yield what limits the total of one class that several groups take of one provider."""
    for condition in of_resource(table, name, total):
        if condition.rule in (None, Rule.MAX_UNIT.value):
            yield condition


def of_single_provider(table: ProviderTable, group: Group) -> Iterator[Condition]:
    """Yield all conditions on a single provider that serves the whole group."""
    yield from of_places(table, group)
    yield from of_required_traits(table, group)
    yield from of_forbidden_traits(table, group)
    for name, amount in group.resources.items():
        yield from of_resource(table, name, amount)


def any_name(names: Sequence[str]) -> str:
    """Return one name for a set of alternatives."""
    return " or ".join(names)


def _is_member(table: ProviderTable, group: Group, aggregate: str) -> Mask:
    """For the group without suffix a provider is also a member of its root's aggregates."""
    is_member = table.is_member(aggregate)
    if group.suffix or not table.has_trees:
        return is_member
    with_root: Mask = is_member | is_member[table.root_rows]
    return with_root


def _is_in_tree(table: ProviderTable, provider: str) -> Mask:
    row = table.row_of(provider)
    if row is None:
        return np.zeros(table.size, np.bool_)
    mask: Mask = table.root_rows == table.root_rows[row]
    return mask


def _any(masks: Iterable[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(list(masks))
    return found
