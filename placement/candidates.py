"""The candidates engine: from table and question to the providers that fit, by array operations.

Pure: no database, no clock, and the dice are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from objects.allocation_candidates import AllocationCandidates
from placement.provider_table import ClassColumns, Mask, Numbers, ProviderTable, Rows
from placement.query import Group, Query


def find_candidates(
    table: ProviderTable, query: Query, dice: np.random.Generator | None
) -> AllocationCandidates:
    """Return the providers that fit.

    With dice they come in random order, and ``limit`` takes a sample.
    """
    funnel = _Funnel(table)
    _keep_places(table, query.group, funnel)
    _keep_traits(table, query.group, funnel)
    _keep_resources(table, query.group.resources, funnel)
    rows = _chosen(np.flatnonzero(funnel.remaining), query.limit, dice)
    return _answer(table, query.group.resources, rows, funnel)


class _Funnel:
    """The rows that passed every rule so far, and how many each rule took out."""

    def __init__(self, table: ProviderTable) -> None:
        self.remaining: Mask = table.is_live.copy()
        self.count = int(np.count_nonzero(self.remaining))
        self.providers_total = self.count
        self.ruled_out: list[dict[str, Any]] = []

    def keep(self, kind: str, name: str, passes: Mask) -> None:
        """Take out the rows that do not pass, and note how many there were."""
        count = self._keep(passes)
        if count:
            self.ruled_out.append({"kind": kind, "name": name, "count": count})

    def keep_fitting(self, name: str, asked: int, columns: ClassColumns) -> None:
        """Take out the rows that cannot serve an amount, and note the most that any could."""
        for rule, passes in _unit_rules(asked, columns):
            self._keep_class(name, asked, columns, passes, {"rule": rule})
        self._keep_class(name, asked, columns, asked <= _free(columns), {})

    def _keep_class(
        self, name: str, asked: int, columns: ClassColumns, passes: Mask, more: dict[str, str]
    ) -> None:
        refused = np.flatnonzero(self.remaining & ~passes)
        count = self._keep(passes)
        if count:
            best = max(0, int(_free(columns)[refused].max()))
            entry = {"kind": "resource", "name": name, "count": count, "asked": asked, "best": best}
            self.ruled_out.append({**entry, **more})

    def _keep(self, passes: Mask) -> int:
        self.remaining &= passes
        before, self.count = self.count, int(np.count_nonzero(self.remaining))
        return before - self.count


def _keep_places(table: ProviderTable, group: Group, funnel: _Funnel) -> None:
    if group.in_tree is not None:
        funnel.keep("in_tree", group.in_tree, _is_in_tree(table, group.in_tree))
    for aggregates in group.member_of:
        funnel.keep("member_of", _any_name(aggregates), _any(map(table.is_member, aggregates)))
    for aggregate in group.forbidden_aggregates:
        funnel.keep("forbidden_aggregate", aggregate, ~table.is_member(aggregate))


def _keep_traits(table: ProviderTable, group: Group, funnel: _Funnel) -> None:
    for traits in group.required_traits:
        funnel.keep("trait", _any_name(traits), _any(map(table.has_trait, traits)))
    for trait in group.forbidden_traits:
        funnel.keep("forbidden_trait", trait, ~table.has_trait(trait))


def _keep_resources(table: ProviderTable, resources: dict[str, int], funnel: _Funnel) -> None:
    for name, amount in resources.items():
        funnel.keep_fitting(name, amount, table.columns_of(name))


def _unit_rules(asked: int, columns: ClassColumns) -> Iterable[tuple[str, Mask]]:
    """Yield the rules of min_unit and step_size, where there is an inventory at all."""
    has_none = columns.total == 0
    yield "min_unit", has_none | (columns.min_unit <= asked)
    yield "step_size", has_none | (asked % columns.step_size == 0)


def _free(columns: ClassColumns) -> Numbers:
    """Return the most that one claim could take of each row."""
    return np.minimum(columns.capacity - columns.used, columns.max_unit)


def _is_in_tree(table: ProviderTable, provider: str) -> Mask:
    row = table.row_of(provider)
    if row is None:
        return np.zeros(table.size, np.bool_)
    return table.root_ids == table.root_ids[row]


def _any(masks: Iterable[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(list(masks))
    return found


def _any_name(names: Sequence[str]) -> str:
    return " or ".join(names)


def _chosen(rows: Rows, limit: int | None, dice: np.random.Generator | None) -> Rows:
    if dice is not None:
        return dice.permutation(rows)[:limit]
    return rows[:limit]


def _answer(
    table: ProviderTable, resources: dict[str, int], rows: Rows, funnel: _Funnel
) -> AllocationCandidates:
    columns = [table.columns_of(name) for name in resources]
    return AllocationCandidates.from_values(
        provider_uuids=table.uuids[rows].tolist(),
        resource_classes=list(resources),
        amounts=np.array(list(resources.values()), np.int64),
        total=np.column_stack([item.total[rows] for item in columns]),
        reserved=np.column_stack([item.reserved[rows] for item in columns]),
        used=np.column_stack([item.used[rows] for item in columns]),
        ratio=np.column_stack([item.allocation_ratio[rows] for item in columns]),
        providers_total=funnel.providers_total,
        ruled_out=funnel.ruled_out,
    )
