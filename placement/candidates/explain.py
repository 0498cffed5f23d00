"""Explanation of missing candidates: how many providers each condition rejects, nearest misses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from placement.candidates import conditions, find_candidates
from placement.candidates.conditions import Condition
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.query import Group, Query
from placement.ledger import feasibility
from placement.providers.columns import Mask, Numbers
from placement.providers.provider_table import ProviderTable

NEAREST_MAX = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Miss:
    """A provider, by its row, and what it lacks."""

    row: int
    lacks: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupExplanation:
    """Conditions that reject providers for one group.

    ``parts`` are dicts with kind, name and count: the number of hosts that this condition alone
    rejects. For resources also asked, and best: the largest free amount.
    """

    suffix: str
    parts: list[dict[str, Any]]
    nearest: list[Miss]


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Conditions that reject providers for a query.

    A host is a tree of providers, together with the sharing providers it can use. ``ruled_out``
    counts each host at the first rule it fails, as ``DecisionTrace`` describes; ``root`` are parts.
    """

    hosts_total: int
    hosts_left: int
    has_candidates: bool
    ruled_out: list[dict[str, Any]]
    root: list[dict[str, Any]]
    groups: list[GroupExplanation]

    @property
    def rows(self) -> set[int]:
        """Rows of the providers that are named."""
        return {miss.row for group in self.groups for miss in group.nearest}


def explain(table: ProviderTable, query: Query) -> Explanation:
    """Return the explanation of a query; this takes a few times as long as answering it."""
    found = find_candidates(table, dataclasses.replace(query, limit=1))
    explainer = _Explainer(table)
    root = conditions.of_root(table, query.root_required, query.root_forbidden)
    return Explanation(
        hosts_total=found.providers_total,
        hosts_left=found.providers_total - sum(entry["count"] for entry in found.ruled_out),
        has_candidates=found.count > 0,
        ruled_out=found.ruled_out,
        root=[explainer.part(each, each.passes) for each in root],
        groups=[explainer.group(group) for group in query.groups],
    )


class _Explainer:
    """Examine one group after the other."""

    def __init__(self, table: ProviderTable) -> None:
        self._table = table
        self._reach = Reach(table)
        self._hosts = Funnel(table, self._reach).remaining

    def part(self, condition: Condition, hosts: Mask) -> dict[str, Any]:
        """Return a condition as data; ``hosts`` are those that pass it."""
        count = int(np.count_nonzero(self._hosts & ~hosts))
        part = {"kind": condition.kind, "name": condition.name, "count": count}
        if condition.columns is not None:
            free = feasibility.free(condition.columns)
            part |= {"asked": condition.asked, "best": max(0, int(free.max(initial=0)))}
        return part if condition.rule is None else part | {"rule": condition.rule}

    def group(self, group: Group) -> GroupExplanation:
        """Return the explanation of a group, independent of the other groups."""
        table, asked = self._table, list(conditions.of_single_provider(self._table, group))
        base = table.is_live if group.resources else table.is_there
        by_host = [self._reach.trees_with(base & each.passes) for each in asked]
        parts = [self.part(each, hosts) for each, hosts in zip(asked, by_host, strict=True)]
        return GroupExplanation(
            suffix=group.suffix,
            parts=[part for part in parts if part["count"] or "rule" not in part],
            # A group with a suffix is served by one provider, the group without one by a host.
            nearest=self._nearest(asked, [each.passes for each in asked], base, by_host=False)
            if group.suffix
            else self._nearest(asked, by_host, self._hosts, by_host=True),
        )

    def _nearest(
        self, asked: Sequence[Condition], passes: Sequence[Mask], among: Mask, *, by_host: bool
    ) -> list[Miss]:
        """Return the providers that fail the fewest conditions, and of these lack the least."""
        fails: Numbers = np.zeros(self._table.size, np.int64)
        short = np.zeros(self._table.size, np.float64)
        free: dict[int, Numbers] = {}
        for index, (condition, mask) in enumerate(zip(asked, passes, strict=True)):
            fails += ~mask
            if condition.columns is not None:
                free[index] = self._free(condition, by_host=by_host)
                short += np.where(mask, 0.0, 1 - free[index] / condition.asked)
        rows = np.flatnonzero(among & (fails > 0))
        order = np.lexsort((rows, short[rows], fails[rows]))[:NEAREST_MAX]
        return [
            Miss(
                row,
                [
                    _lack(condition, int(free[index][row]) if index in free else None)
                    for index, condition in enumerate(asked)
                    if not passes[index][row]
                ],
            )
            for row in rows[order].tolist()
        ]

    def _free(self, condition: Condition, *, by_host: bool) -> Numbers:
        """Return the largest free amount of a class: per provider, or per host over all its own."""
        assert condition.columns is not None
        own: Numbers = np.maximum(feasibility.free(condition.columns), 0)
        if not by_host or self._reach.is_flat:
            return own
        table, best = self._table, np.zeros(self._table.size, np.int64)
        there = np.flatnonzero(table.is_there)
        np.maximum.at(best, table.root_rows[there], own[there])
        np.maximum.at(best, table.sharing.anchors, own[table.sharing.providers])
        return best


def _lack(condition: Condition, free: int | None) -> dict[str, Any]:
    lack: dict[str, Any] = {"kind": condition.kind, "name": condition.name}
    if free is None:
        return lack
    lack |= {"asked": condition.asked, "free": free}
    if condition.rule is not None:
        return lack | {"rule": condition.rule}
    return lack | {"short": max(condition.asked - free, 0)}
