"""Candidates of sharing providers only: many trees have the same ones, and each counts once."""

from collections.abc import Iterator

import numpy as np

from placement.candidates.eligible import Eligible
from placement.candidates.entries import Entries
from placement.candidates.plan import Plan, batches_of
from placement.candidates.problem import Problem
from placement.candidates.result import Batch
from placement.candidates.solver import SearchBudget, Solver
from placement.candidates.strategy import Strategy
from placement.candidates.tree_classes import TreeClassFinder
from placement.providers.columns import Rows
from placement.providers.provider_table import ProviderTable


class SharingOnlyCollector:
    """Collect candidates of sharing providers; trees with the same ones are searched once."""

    def __init__(
        self,
        table: ProviderTable,
        problem: Problem,
        eligible: Eligible,
        entries: Entries,
        strategy: Strategy,
        budget: SearchBudget,
    ) -> None:
        self._problem = problem
        self._entries = entries
        self._strategy = strategy
        self._budget = budget
        self._finder = TreeClassFinder(table, problem, eligible, strategy.rng)
        self._plans: list[Plan] = []
        self._same = _same_providers(entries)
        self._fruitful: list[Rows] = [np.empty(0, np.intp)]

    @property
    def productive_roots(self) -> Rows:
        """Roots of the trees with such candidates, possibly the same as of other trees."""
        return np.concatenate(self._fruitful)

    def gather(self, limit: int | None) -> list[Batch]:
        """Return candidates up to the limit."""
        batches: list[Batch] = []
        seen: set[tuple[int, ...]] = set()
        firsts = np.array([positions[0] for positions in self._same], np.intp)
        for positions, kinds, rows in self._finder.sort(self._entries.only(firsts)):
            for position, kind, providers in zip(positions.tolist(), kinds, rows, strict=True):
                if limit is not None and len(seen) >= limit:
                    return batches
                made = [*self._of_tree(firsts[position], kind, providers, seen, limit)]
                if made or self._plan(kind).count(1):
                    self._fruitful.append(self._entries.anchors[self._same[position]])
                batches.extend(made)
        return batches

    def _of_tree(
        self,
        position: int,
        kind: int,
        providers: Rows,
        seen: set[tuple[int, ...]],
        limit: int | None,
    ) -> Iterator[Batch]:
        plan = self._plan(kind)
        ways = plan.first(plan.count(None if limit is None else limit + len(seen)))
        fresh = []
        for way, candidate in enumerate(map(tuple, providers[ways.nodes].tolist())):
            if limit is not None and len(seen) >= limit:
                break
            if candidate not in seen:
                seen.add(candidate)
                fresh.append(way)
        if fresh:
            anchors = np.full(len(fresh), self._entries.anchors[position], np.intp)
            trees = np.zeros(len(fresh), np.intp)
            yield from batches_of(
                self._problem, ways, np.array(fresh, np.intp), anchors, providers[np.newaxis], trees
            )

    def _plan(self, kind: int) -> Plan:
        for found in self._finder.kinds[len(self._plans) :]:
            solver = Solver(self._problem, found, self._budget, rng=self._strategy.rng)
            self._plans.append(Plan(solver))
        return self._plans[kind]


def _same_providers(entries: Entries) -> list[Rows]:
    """Return positions of trees, grouped by equal providers."""
    trees = np.repeat(np.arange(len(entries.anchors)), entries.counts)
    rows = entries.rows[np.lexsort((entries.rows, trees))]
    found: list[Rows] = []
    for count in np.unique(entries.counts).tolist():
        positions = np.flatnonzero(entries.counts == count)
        sets = rows[entries.starts[positions][:, np.newaxis] + np.arange(count)]
        _, inverse = np.unique(sets, axis=0, return_inverse=True)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        cuts = np.flatnonzero(np.diff(inverse.reshape(-1)[order])) + 1
        found.extend(np.split(positions[order], cuts))
    return found
